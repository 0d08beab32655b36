"""`pyjs rtt`: the round trip time to each server of the connection."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import click

from ...cli import flags, output, render
from ...cli.command import RequestCommand
from ...cli.connection import connect
from ...cli.output import NAME, SPAN, TIME, Column, Table
from ...cli.profile import resolve
from ...cli.refusal import bare_url

RTT = Table(
    "rtt",
    "Round Trip Times",
    (
        Column("url", "URL", NAME),
        Column("address", "Address", NAME),
        Column("rtt", "RTT", SPAN, show=lambda each: in_words(each["rtt"])),
        Column("time", "Time", TIME),
    ),
    key="url",
    spare=("time",),
)


@click.command(cls=RequestCommand)
@output.listing(RTT, legacy="an object for each server, with a list of results")
@click.argument("iterations", type=click.IntRange(min=1), default=5)
async def rtt(iterations: int) -> None:
    """Measure the round trip time to the server, ITERATIONS times (5)."""
    profile = resolve(flags.session())
    found: list[dict[str, Any]] = []
    for url in profile.servers:
        one = replace(profile, fields={**profile.fields, "url": url})
        async with connect(one) as connection:
            spent = []
            for _ in range(iterations):
                began = time.perf_counter_ns()
                await connection.nc.flush(connection.timeout)
                spent.append(time.perf_counter_ns() - began)
            result = {
                "time": datetime.now(UTC).isoformat().replace("+00:00", "Z"),
                "address": connection.url,
                "rtt": sum(spent) // len(spent),
                "url": bare_url(url),
            }
            found.append({"url": bare_url(url), "results": [result]})
    if output.is_asked_for():
        records = [{**server, **result} for server in found for result in server["results"]]
        output.show(RTT.of(records), document=found)
        return
    for server in found:
        render.show(f"{server['url']}:\n")
        for result in server["results"]:
            render.show(f"   {result['address']}: {in_words(result['rtt'])}\n")


def in_words(nanoseconds: int) -> str:
    """Return a short time in readable units: `96µs`, `1.61ms`, `2.10s`."""
    if nanoseconds < 1_000_000:
        return f"{nanoseconds / 1e3:.0f}µs"
    if nanoseconds < 1_000_000_000:
        return f"{nanoseconds / 1e6:.2f}ms"
    return f"{nanoseconds / 1e9:.2f}s"
