"""`nsc status`: what each server holds for each account, compared with the store."""

from __future__ import annotations

from typing import Any

import click

from ...cli import output
from ...cli.errors import ExitCode, tell
from ...cli.output import FLAG, NAME, TEXT, TIME, WORD, Column, Table
from ...cli.output.choice import chosen
from ...keys.workspace.flag_values import moment, relative
from ...keys.workspace.servers.status import AccountStatus, StatusResult
from ...keys.workspace.servers.status import status as reported_status
from ...protocol.timestamp import format_exact
from . import completion
from .command import NscCommand, open_workspace, run, switch
from .server_flags import reach, system_flags, timeout_flag

ACCOUNTS = Table(
    "accounts",
    "Accounts",
    (
        Column("server", "Server", NAME, same=True),
        Column("name", "Account", NAME, show=lambda row: row["name"] or row["account"]),
        Column("state", "State", WORD),
        Column("issued", "Issued", TIME),
        Column("expires", "Expires", TIME, show=lambda row: str(row["ends"])),
        Column("id", "JWT ID", NAME, show=lambda row: row["id"][:12]),
        Column("note", "Note", TEXT, optional=True),
        Column("account", "Key", NAME, wide=True),
        Column("expired", "Expired", FLAG, wide=True),
        Column("expiring", "Ends Soon", FLAG, wide=True),
        Column("used", "In Use", WORD, wide=True),
    ),
    spare=("id", "issued"),
)
SECOND = 1_000_000_000


@click.command(cls=NscCommand)
@output.listing(ACCOUNTS, legacy="an object with the servers and the report, too")
@switch("--json", "as_json", text="Tell all as JSON, with the servers and the report.")
@click.option(
    "-a",
    "--account",
    "accounts",
    multiple=True,
    metavar="NAME",
    help="Only of this account.",
    shell_complete=completion.accounts,
)
@click.option("-u", "--account-jwt-server-url", "url", default="", help="Servers; else the operator's URL.")
@click.option(
    "-e", "--within", default="1M", metavar="TIME", help="What ends within is soon: 3d, 2w, a date."
)
@switch("--check", text="Exit with 1 when a server has not what the store has, or it has expired.")
@switch("--differences", text="Only what is not as in the store, has expired or ends soon.")
@timeout_flag
@system_flags
async def status(
    accounts: tuple[str, ...],
    url: str,
    within: str,
    check: bool,
    differences: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Show which JWT of each account each server holds, and how it relates to the store's.

    Needs servers with a NATS based resolver. What is in use tells servers apart that hold different JWTs.
    """
    run().json = chosen().json = as_json
    workspace = open_workspace()
    found = await reported_status(
        workspace, accounts, reach(given, url), soon=moment(within, workspace.now())
    )
    shown = [row for row in found.accounts if not differences or _remarkable(row)]
    if found.report.children and not as_json:
        tell(found.report.render())
    now = workspace.now()
    none = f"{len(found.accounts)} accounts on {len(found.servers)} servers are as in the store"
    output.show(
        ACCOUNTS.of(
            [_record(row, now) for row in shown],
            title=f'Accounts of operator "{workspace.store().name}" on its servers',
        ),
        document=_document(found, shown),
        text="" if shown else none,
    )
    if (check and found.differs) or found.report.failed:
        raise click.exceptions.Exit(ExitCode.FAILED)


def _remarkable(row: AccountStatus) -> bool:
    return row.state != "current" or row.expiring or bool(row.note)


def _record(row: AccountStatus, now: int) -> dict[str, Any]:
    return {
        "server": row.server,
        "name": row.name,
        "account": row.account,
        "state": str(row.state),
        "issued": _moment(row.issued),
        "expires": _moment(row.expires),
        "expired": row.expired,
        "expiring": row.expiring,
        "id": row.id,
        "used": str(row.used or ""),
        "note": row.note,
        "ends": _ends(row, now),
    }


def _moment(seconds: int) -> str:
    try:
        return format_exact(seconds * SECOND) if seconds else ""
    except (OverflowError, ValueError, OSError):  # a token may say anything
        return ""


def _ends(row: AccountStatus, now: int) -> str:
    """Return how people read when a token ends."""
    if not row.expires:
        return "Never" if row.id else ""
    mark = "EXPIRED " if row.expired else "! " if row.expiring else ""
    return f"{mark}{relative(row.expires, now)}"


def _document(found: StatusResult, shown: list[AccountStatus]) -> dict[str, object]:
    return {
        "url": found.url,
        "servers": found.servers,
        "differs": found.differs,
        "accounts": [row.document() for row in shown],
        "report": found.report.document(),
    }
