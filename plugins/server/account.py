"""`pyjs server account`: shows an account as the servers see it, and removes all that it has in JetStream."""

from __future__ import annotations

from typing import Any

import click

from ...cli import output, prompt, render
from ...cli.command import FORCE, CommandGroup
from ...cli.connection import connect
from ...cli.errors import NotFoundError, RemoteError, UsageError
from .archive import ARCHIVE, servers
from .poll import poll

Info = dict[str, Any]
Pairs = list[tuple[str, object]]
WIDTH = 24


@click.group(cls=CommandGroup)
@output.json_before
def account() -> None:
    """Look at accounts as the servers see them, and purge them."""


account.add_alias("info", "i")


@account.command("info")
@output.showing("account_details")
@click.argument("name", metavar="ACCOUNT")
@click.option("--host", default="", metavar="SERVER", help="Ask the server of this name.")
@ARCHIVE
async def info(name: str, host: str) -> None:
    """Show an account: what it imports, exports and maps."""
    asked: Info = {"account": name}
    if host:
        asked |= {"server_name": host, "exact_match": True}
    async with servers() as connection:
        answers = await poll(connection, "$SYS.REQ.SERVER.PING.ACCOUNTZ", asked, expect=1)
    found = (answers[0].document.get("data") or {}).get("account_detail")
    if not found:
        raise NotFoundError(f"no server knows of the account {name}")
    lines = [f"Account information for account {found.get('account_name', name)}", ""]
    for title, blocks in _sections(found):
        lines += [f"{title}:", ""]
        for pairs in blocks:
            lines += [render.fields(pairs, WIDTH), ""]
    output.show_page(found, "\n".join(lines), name=name)


def _sections(found: Info) -> list[tuple[str, list[Pairs]]]:
    """Return the sections of the page, each with blocks of lines."""
    mapped = [_mapped(subject, targets) for subject, targets in (found.get("mappings") or {}).items()]
    revoked: Pairs = sorted((found.get("revoked_user") or {}).items())
    sections = [
        ("Details", [_details(found)]),
        ("Mappings", mapped),
        ("Imports", [_import(each) for each in found.get("imports") or []]),
        ("Exports", [_export(each) for each in found.get("exports") or []]),
        ("Revoked Users", [revoked] if revoked else []),
    ]
    return [(title, blocks) for title, blocks in sections if blocks]


def _word(value: object) -> str:
    return "true" if value else "false"


def _details(found: Info) -> Pairs:
    rows: Pairs = [
        ("Complete", _word(found.get("complete"))),
        ("Expired", _word(found.get("expired"))),
        ("System Account", _word(found.get("is_system"))),
        ("JetStream", _word(found.get("jetstream_enabled"))),
    ]
    if render.parse_time(found.get("update_time", "")):
        ago = render.span(render.since(found["update_time"]))
        rows.insert(3, ("Updated", f"{render.when(found['update_time'])} ({ago} ago)"))
    for label, key in (("Issuer", "issuer_key"), ("Tag", "name_tag")):
        if found.get(key):
            rows.append((label, found[key]))
    if found.get("tags"):
        rows.append(("Tags", ", ".join(found["tags"])))
    for label, key in (
        ("Connections", "client_connections"),
        ("Leafnodes", "leafnode_connections"),
        ("Subscriptions", "subscriptions"),
    ):
        rows.append((label, render.number(found.get(key, 0))))
    return rows


def _mapped(subject: str, targets: list[Info]) -> Pairs:
    """Return a row for each destination of a mapping, with the subject in the first one."""
    rows: Pairs = []
    for target in targets:
        words = [target.get("subject", "")]
        if target.get("cluster"):
            words.append(f"in cluster {target['cluster']}")
        if target.get("weight", 100) != 100:
            words.append(f"with weight {target['weight']}")
        rows.append(("" if rows else subject, " ".join(words)))
    return rows


def _import(each: Info) -> Pairs:
    here, there = each.get("local_subject") or each.get("subject", ""), each.get("subject", "")
    origin = f"from account {each.get('account', '')}"
    if here != there:
        origin = f"from subject {there} in account {each.get('account', '')}"
    rows: Pairs = [
        ("Subject", f"{here} {origin}"),
        ("Type", each.get("type", "")),
        ("Sharing", _word(each.get("share"))),
        ("Tracking", _word(each.get("tracking"))),
    ]
    return rows + ([("Invalid", "true")] if each.get("invalid") else [])


def _export(each: Info) -> Pairs:
    rows: Pairs = [
        ("Subject", each.get("subject", "")),
        ("Type", each.get("type", "")),
        ("Tokens Required", _word(each.get("token_req"))),
    ]
    for label, key in (
        ("Response Type", "response_type"),
        ("Name", "name"),
        ("Description", "description"),
        ("Account Token Pos", "account_token_position"),
    ):
        if each.get(key):
            rows.append((label, each[key]))
    approved = each.get("approved_accounts") or []
    return rows + [("" if number else "Accounts", name) for number, name in enumerate(approved)]


@account.command("purge")
@output.showing("purged_account")
@click.argument("name", metavar="ACCOUNT")
@FORCE
async def purge(name: str, force: bool) -> None:
    """Delete all Streams and Consumers of an account."""
    question = f"Really delete all Streams and Consumers of account {name}, with all messages"
    async with connect() as connection:
        if connection.profile.domain:
            raise UsageError(
                "--js-domain cannot be used with the system account", "connect to a server of that domain"
            )
        if not await prompt.sure(question, forced=force):
            return
        try:
            answer = await connection.js.request(f"ACCOUNT.PURGE.{name}")
        except RemoteError as error:
            raise error.while_doing(f"could not purge account {name}") from None
    output.show_page(answer, f"Purge operation on account {name} initiated", name=name)
