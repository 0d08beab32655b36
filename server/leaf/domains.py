"""Domains: which JetStream traffic stays on its own side of a leaf connection.

A pure decision, which both ends make when a connection is registered. Different domains do not share their
APIs: `$JS.API.>` is not sent, and each domain is reached from the other side by `$JS.<domain>.API`.
Source: nats-server's server/leafnode.go: addLeafNodeConnection; server/jetstream_api.go: denyAllJs,
denyAllClientJs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ..jetstream.domain import api_mappings

CLIENTS = ("$JS.API.>", "$KV.>", "$OBJ.>")
ALL = (*CLIENTS, "$JSC.>", "$NRG.>")
WILL_EXTEND = "will_extend"


class DomainView(NamedTuple):
    """What this server knows of itself and of one account.

    spans: whether its JetStream is made up of several servers, of which some may be on the other side.
    """

    domain: str
    jetstream: bool
    account: str
    system_account: str  # "" for none
    default_domains: Mapping[str, str]
    extension_hint: str = ""
    spans: bool = False


class Denials(NamedTuple):
    """The subjects that do not pass.

    both: neither sent nor asked for.
    send: also not sent.
    note: a line for the log.
    """

    both: tuple[str, ...] = ()
    send: tuple[str, ...] = ()
    note: str = ""


def denials(side: DomainView, peer_domain: str, peer: str, *, peer_jetstream: bool = True) -> Denials:
    """Return the deny lists of a connection to the server called `peer`, whose domain is `peer_domain`.

    peer_jetstream: whether the peer has JetStream. One without it denies clients' subjects on its side, and
        would refuse the subscriptions of the others.
    """
    is_system = bool(side.system_account) and side.account == side.system_account
    force = is_system and "" in side.default_domains.values()
    if not is_system and side.default_domains.get(side.account) == "":
        return Denials(note=f"JetStream not denied for account {side.account!r}: its default domain is empty")
    without = not side.jetstream and not side.domain and side.extension_hint != WILL_EXTEND
    if side.domain != peer_domain or without or not side.system_account or force:
        outgoing = (f"$JS.{side.domain}.API.>",) if side.domain and side.jetstream else ()
        if is_system:
            return Denials(ALL, outgoing, f"System account connected from {peer}, JetStream not extended")
        note = f"JetStream using domains: local {side.domain!r}, remote {peer_domain!r}"
        return Denials(CLIENTS, outgoing, note)
    if is_system:
        note = f"Extending JetStream domain {peer_domain!r} as System Account connected from server {peer}"
        return Denials(note=note)
    # The servers of one JetStream receive each request of an account, wherever it was made.
    return Denials() if side.spans and peer_jetstream else Denials(CLIENTS)


def default_mappings(domain: str) -> list[tuple[str, str]]:
    """Return the (source, destination) that map the plain API to another domain (`default_js_domain`)."""
    return [(plain, qualified) for qualified, plain in api_mappings(domain)]
