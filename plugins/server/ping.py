"""`pyjs server ping`: how long each server takes to answer."""

from __future__ import annotations

from typing import Any

import click

from ...cli import output, render
from ...cli.command import Command
from ...cli.connection import connect
from ...cli.output import NAME, SPAN, WORD, Column, Table
from .poll import TimedResponse, poll

MILLISECOND = 1_000_000
BARS = 40  # characters of the longest bar of the graph
STEPS = 10  # rows of the graph


SERVERS = Table(
    "servers",
    "Response Times",
    (
        Column("name", "Server", NAME),
        Column("rtt", "RTT", SPAN, show=lambda each: render.go_span(each["rtt"])),
        Column("id", "ID", WORD, wide=True),
        Column("cluster", "Cluster", NAME, wide=True),
    ),
)


@click.command(cls=Command)
@output.listing(SERVERS, watch=True)
@click.argument("expect", required=False, type=click.IntRange(min=0), default=0)
@click.option("--graph", is_flag=True, help="Show how the response times are distributed.")
@click.option("--id", "with_id", is_flag=True, help="Show the servers' ids too.")
async def ping(expect: int, graph: bool, with_id: bool) -> None:
    """Ping all servers; waits for EXPECT answers when it is given."""
    async with connect() as connection:
        answers = await poll(connection, "$SYS.REQ.SERVER.PING", expect=expect)
    records = [_record(each) for each in answers]
    lines = []
    for each in records:
        name = f"{each['id']} {each['name']}" if with_id else each["name"]
        lines.append(f"{name:<60} rtt={render.go_span(each['rtt'])}")
    lines.append(f"\n---- ping statistics ----\n{_statistics(answers)}")
    if expect > len(answers):
        lines.append(f"\nMissing {expect - len(answers)} server(s)")
    if graph:
        lines.append("\n" + _graph([each.after for each in answers]))
    output.show(SERVERS.of(records), text="" if output.is_asked_for() else "\n".join(lines))


def _record(answer: TimedResponse) -> dict[str, Any]:
    server = answer.document.get("server") or {}
    return {**{name: server.get(name, "") for name in ("name", "id", "cluster")}, "rtt": answer.after}


def _statistics(answers: list[TimedResponse]) -> str:
    times = [each.after / MILLISECOND for each in answers]
    mean = sum(times) / len(times)
    return f"{len(times)} replies max: {max(times):.2f} min: {min(times):.2f} avg: {mean:.2f}"


def _graph(times: list[int]) -> str:
    """Return a graph of response times in equal steps, with the number of servers in each."""
    width = max(1, -(-max(times) // STEPS))
    counts = [0] * STEPS
    for each in times:
        counts[min(STEPS - 1, each // width)] += 1
    most = max(counts)
    return "\n".join(
        f"{(step + 1) * width / MILLISECOND:8.2f}ms: {'█' * round(BARS * count / most)} ({count})"
        for step, count in enumerate(counts)
    )
