"""`pyjs stream graph`: how full a stream is, and how fast it is written and trimmed, as plots."""

from __future__ import annotations

from typing import Any

import click

from ...cli.command import Command
from ...cli.connection import connect
from ...cli.output.graph import PlotSeries, graph
from .info import ALL, STREAM, chosen

SERIES = (
    PlotSeries("Messages Stored", lambda info: float(info["state"]["messages"])),
    PlotSeries(
        "Messages Removed / second",
        lambda info: float(info["state"]["first_seq"]),
        "{:,.1f}".format,
        rate=True,
    ),
    PlotSeries(
        "Messages Stored / second", lambda info: float(info["state"]["last_seq"]), "{:,.1f}".format, rate=True
    ),
)


@click.command("graph", cls=Command)
@STREAM
@ALL
async def stream_graph(stream: str, all_streams: bool) -> None:
    """Plot what a Stream holds and its rates, every second until Ctrl-C."""
    async with connect() as connection:
        name = await chosen(connection, stream, everything=all_streams)

        async def read() -> dict[str, Any]:
            return await connection.js.stream_info(name)

        await graph(f"Stream Statistics for {name}", SERIES, read)
