"""`pyjs server report health`: whether servers, streams and consumers are healthy, and what is wrong."""

from __future__ import annotations

from typing import Any

import click

from ...cli import output
from ...cli.command import Command
from ...cli.output import NAME, NUMBER, TEXT, WORD, Column, FilledTable, Table
from .archive import ARCHIVE, servers
from .order import REVERSE
from .poll import only, poll, selection

Info = dict[str, Any]
HEALTH = Table(
    "health",
    "Health Report",
    (
        Column("server", "Server", NAME),
        Column("cluster", "Cluster", NAME, same=True),
        Column("domain", "Domain", NAME, same=True),
        Column("status", "Status", WORD),
        Column("type", "Type", WORD),
        Column("error", "Error", TEXT),
        Column("code", "Code", NUMBER, wide=True),
    ),
    key="server",
    spare=("domain", "cluster", "type"),
)
MOST = 10  # errors of one server that are shown


@click.command(cls=Command)
@output.listing(HEALTH, watch=True)
@click.argument("limit", required=False, type=click.IntRange(min=0), default=0)
@click.option("-J", "--js-enabled/--no-js-enabled", default=False, help="JetStream has to be enabled.")
@click.option("-S", "--server-only/--no-server-only", default=False, help="Not its Streams and Consumers.")
@click.option("--account", default="", help="Only this account.")
@click.option("--stream", default="", help="Only this Stream.")
@click.option("--consumer", default="", help="Only this Consumer.")
@REVERSE
@only
@ARCHIVE
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
    async with servers() as connection:
        answers = await poll(
            connection, "$SYS.REQ.SERVER.PING.HEALTHZ", {k: v for k, v in asked.items() if v}, expect=limit
        )
    found = sorted(
        (each.document for each in answers), key=lambda each: str(each["server"]["name"]), reverse=backwards
    )
    output.show(_rows(found))


def _rows(found: list[Info]) -> FilledTable:
    """Return a record for each error, and one for each server that has none."""
    records: list[Info] = []
    cells: list[tuple[str, ...]] = []
    for each in found:
        server, data = each["server"], each.get("data") or {}
        errors = data.get("errors") or []
        where = {name: server.get(name, "") for name in ("cluster", "domain")}
        state = {"status": data.get("status", ""), "code": data.get("status_code", 0)}
        records += [
            {"server": server.get("name", ""), **where, **state, "type": str(one.get("type", "")),
             "error": one.get("error", "")}
            for one in errors or [{}]
        ]  # fmt: skip
        status = f"{state['status']} ({state['code']})"
        cells.append((server.get("name", ""), *where.values(), status, "", "", str(state["code"])))
        shown = errors if len(errors) <= MOST else errors[: MOST - 1]
        cells += [("", "", "", "", str(one.get("type", "")), one.get("error", ""), "") for one in shown]
        if len(shown) < len(errors):
            cells.append(("", "", "", "", "", f"{len(errors) - len(shown)} more errors", ""))
    well = sum((each.get("data") or {}).get("status_code") == 200 for each in found)
    footer = {
        "server": len(found),
        "cluster": len({each["server"].get("cluster", "") for each in found}),
        "status": f"ok: {well} / err: {len(found) - well}",
        "error": sum(bool(record["error"]) for record in records),
    }
    return HEALTH.of(records, cells=cells, footer=footer)
