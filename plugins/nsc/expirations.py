"""`nsc expirations`: the tokens that have expired, and those that expire soon."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import click

from ...keys.workspace.expirations import TokenExpiry
from ...keys.workspace.expirations import expirations as found_expirations
from ...keys.workspace.flag_values import moment, relative
from .command import NscCommand, open_workspace, run, switch
from .table import TextTable


@click.command(cls=NscCommand)
@click.option(
    "-e", "--within", default="1M", metavar="TIME", help="What ends within is soon: 3d, 2w, a date."
)
@switch("--skip", text="Only what has ended or ends soon.")
@switch("--json", "as_json", text="As JSON.")
def expirations(within: str, skip: bool, as_json: bool) -> None:
    """Tell when the tokens of the operator, its accounts, its users, and those in credentials end."""
    workspace = open_workspace()
    now = workspace.now()
    threshold = moment(within, now)
    found = [one for one in found_expirations(workspace, threshold) if one.pressing or not skip]
    if as_json or run().json:
        report = {
            "expiration_threshold": _stamp(threshold),
            "report": [_document(one, now) for one in found],
        }
        click.echo(json.dumps(report, indent=2, ensure_ascii=False))
        return
    table = TextTable(f"Expiration Report ({_when(threshold, now)})", ("Expired", "Resource", "Expiration"))
    for one in found:
        state = "ERR" if one.error else "Yes" if one.expired else "Soon" if one.soon else "No"
        ends = f"{_stamp(one.expires)} - {_when(one.expires, now)}" if one.expires else "Never"
        table.row(state, one.resource, one.error or ends)
    click.echo(table.render())


def _document(one: TokenExpiry, now: int) -> dict[str, Any]:
    return {
        "resource": one.resource,
        "id": one.public_key,
        "when": _when(one.expires, now),
        "expiry": one.expires,
        "expiration_date": _stamp(one.expires) if one.expires else "",
        "expires_soon": one.soon,
        "expired": one.expired,
        **({"error": one.error} if one.error else {}),
    }


def _when(seconds: int, now: int) -> str:
    return relative(seconds, now).title() or "Never"


def _stamp(seconds: int) -> str:
    """Return a time as RFC 3339, in UTC."""
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"
    except (OverflowError, ValueError, OSError):
        return f"{seconds} seconds"
