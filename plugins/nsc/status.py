"""`nsc status`: what each server holds for each account, compared with the store."""

from __future__ import annotations

import json
from typing import Any

import click

from ...cli.errors import ExitCode
from ...keys import Workspace
from ...keys.workspace.flag_values import date, moment, relative
from ...keys.workspace.servers.status import AccountStatus, StatusResult
from ...keys.workspace.servers.status import status as reported_status
from . import completion
from .command import NscCommand, open_workspace, run, switch
from .server_flags import reach, system_flags, timeout_flag
from .table import TextTable


@click.command(cls=NscCommand)
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
    accounts: tuple[str, ...], url: str, within: str, check: bool, differences: bool, **given: Any
) -> None:
    """Show which JWT of each account each server holds, and how it relates to the store's.

    Needs servers with a NATS based resolver. What is in use tells servers apart that hold different JWTs.
    """
    workspace = open_workspace()
    found = await reported_status(
        workspace, accounts, reach(given, url), soon=moment(within, workspace.now())
    )
    shown = [row for row in found.accounts if not differences or _remarkable(row)]
    if run().json:
        click.echo(json.dumps(_document(found, shown), indent=2, ensure_ascii=False))
    else:
        _show(workspace, found, shown)
    if (check and found.differs) or found.report.failed:
        raise click.exceptions.Exit(ExitCode.FAILED)


def _remarkable(row: AccountStatus) -> bool:
    return row.state != "current" or row.expiring or bool(row.note)


def _show(workspace: Workspace, found: StatusResult, shown: list[AccountStatus]) -> None:
    if found.report.children:
        click.echo(found.report.render(), err=True)
    if not shown:
        click.echo(f"{len(found.accounts)} accounts on {len(found.servers)} servers are as in the store")
        return
    columns = ("Server", "Account", "State", "Issued", "Expires", "JWT ID", "Note")
    table = TextTable(f'Accounts of operator "{workspace.store().name}" on its servers', columns)
    before = ""
    for row in shown:
        if before and row.server != before:
            table.separator()
        table.row(
            row.server if row.server != before else "",
            row.name or row.account,
            row.state,
            date(row.issued),
            _expires(row, workspace.now()),
            row.id[:12],
            row.note,
        )
        before = row.server
    click.echo(table.render())


def _expires(row: AccountStatus, now: int) -> str:
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
