"""`pyjs server report health`: whether servers, streams and consumers are healthy, and what is wrong."""

from __future__ import annotations

from typing import Any

import click

from ...cli import render
from ...cli.command import Command
from ...cli.connection import connect
from .order import REVERSE
from .poll import only, poll, selection

Info = dict[str, Any]
COLUMNS = ("Server", "Cluster", "Domain", "Status", "Type", "Error")
MOST = 10  # errors of one server that are shown


@click.command(cls=Command)
@click.argument("limit", required=False, type=click.IntRange(min=0), default=0)
@click.option("-J", "--js-enabled/--no-js-enabled", default=False, help="JetStream has to be enabled.")
@click.option("-S", "--server-only/--no-server-only", default=False, help="Not its Streams and Consumers.")
@click.option("--account", default="", help="Only this account.")
@click.option("--stream", default="", help="Only this Stream.")
@click.option("--consumer", default="", help="Only this Consumer.")
@REVERSE
@only
async def health(
    limit: int,
    js_enabled: bool,
    server_only: bool,
    account: str,
    stream: str,
    consumer: str,
    backwards: bool,
    host: str,
    cluster: str,
    tags: tuple[str, ...],
) -> None:
    """Report on the health of servers; ends with LIMIT answers when it is given."""
    asked: Info = {
        "js-enabled-only": js_enabled,
        "js-server-only": server_only,
        "account": account,
        "stream": stream,
        "consumer": consumer,
        "details": True,
        **selection(host, cluster, tags),
    }
    async with connect() as connection:
        answers = await poll(
            connection, "$SYS.REQ.SERVER.PING.HEALTHZ", {k: v for k, v in asked.items() if v}, expect=limit
        )
    found = sorted(
        (each.document for each in answers), key=lambda each: str(each["server"]["name"]), reverse=backwards
    )
    render.show(_table(found) + "\n")


def _table(found: list[Info]) -> str:
    rows: list[tuple[str, ...]] = []
    wrong = 0
    for each in found:
        server, data = each["server"], each.get("data") or {}
        errors = data.get("errors") or []
        wrong += len(errors)
        where = (server.get("name", ""), server.get("cluster", ""), server.get("domain", ""))
        rows.append((*where, f"{data.get('status', '')} ({data.get('status_code', 0)})", "", ""))
        shown = errors if len(errors) <= MOST else errors[: MOST - 1]
        rows += [("", "", "", "", str(one.get("type", "")), one.get("error", "")) for one in shown]
        if len(shown) < len(errors):
            rows.append(("", "", "", "", "", f"{len(errors) - len(shown)} more errors"))
    well = sum((each.get("data") or {}).get("status_code") == 200 for each in found)
    clusters = {each["server"].get("cluster", "") for each in found}
    footer = (len(found), len(clusters), "", f"ok: {well} / err: {len(found) - well}", "", wrong)
    return render.table("Health Report", COLUMNS, rows, footer)
