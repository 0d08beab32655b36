"""Revocations as a table or as JSON, and the flag for the time from which they count."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import click

from ....cli import prompt, render
from ....keys import Workspace
from ....keys.workspace.flag_values import date_time
from ....keys.workspace.revocations import Revocation
from ..command import run
from ..table import TextTable

AT = click.option(
    "--at",
    default="0",
    metavar="TIME",
    help="revoke what was issued up to then: RFC 3339 or seconds since the epoch; 0 is now",
)


def show(title: str, everyone: str, revocations: Sequence[Revocation]) -> None:
    """Write a table of revocations; `everyone` is the name for those whom the entry `*` is about."""
    if run().json:
        render.show_json([{"public_key": entry.key, "before": entry.at} for entry in revocations])
        return
    table = TextTable(title, ["Public Key", "Revoke Credentials Before"])
    for entry in revocations:
        table.row(f"* [{everyone}]" if entry.key == "*" else entry.key, _when(entry.at))
    click.echo(table.render())


def moment(workspace: Workspace, at: str) -> int:
    """Return the seconds since the epoch that `--at` means. Raises WorkspaceError."""
    return date_time(at, workspace.now())


async def asked(workspace: Workspace, at: str) -> str:
    """Return the time; ask for it unless it was given."""
    if at != "0":
        return at

    def check(text: str) -> str:
        date_time(text, workspace.now())
        return text

    return await prompt.text(
        "revoke all credentials created before (0 is now, formats are RFC3339 or #seconds since epoch)",
        flag="--at",
        default=at,
        check=check,
    )


def _when(seconds: int) -> str:
    """Return a time as RFC 1123 has it, in UTC."""
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%a, %d %b %Y %H:%M:%S} UTC"
    except (OverflowError, ValueError, OSError):
        return f"{seconds} seconds"
