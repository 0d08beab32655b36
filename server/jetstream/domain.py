"""Domain: `$JS.<domain>.API` means this server's API, as clients of other domains call it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..accounts.mapping import Mapping

if TYPE_CHECKING:
    from ..accounts.account import Account

_API_FAMILIES = ("STREAM", "CONSUMER", "DIRECT", "META", "SERVER", "ACCOUNT")


def map_domain(account: Account, domain: str) -> None:
    """Let an account's clients call the API by the domain's name. domain: "" for none."""
    if not domain:
        return
    for source, target in api_mappings(domain):
        account.mappings.add(Mapping(source, [(target, 100)]))
    account.forget_plans()


def unmap_domain(account: Account, domain: str) -> None:
    """Undo `map_domain`."""
    if not domain:
        return
    for source, _ in api_mappings(domain):
        account.mappings.remove(source)
    account.forget_plans()


def api_mappings(domain: str) -> list[tuple[str, str]]:
    """Return the (source, destination) that map `$JS.<domain>.API` to this server's API and buckets."""
    mappings = [(f"$JS.{domain}.API.INFO", "$JS.API.INFO")]
    mappings += [(f"$JS.{domain}.API.{family}.>", f"$JS.API.{family}.>") for family in _API_FAMILIES]
    return [*mappings, (f"$JS.{domain}.API.$KV.>", "$KV.>"), (f"$JS.{domain}.API.$OBJ.>", "$OBJ.>")]
