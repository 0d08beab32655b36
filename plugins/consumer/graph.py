"""`pyjs consumer graph`: how fast a consumer delivers and is acknowledged, and what waits, as plots."""

from __future__ import annotations

from typing import Any

import click

from ...cli.command import Command
from ...cli.connection import connect
from ...cli.output.graph import PlotSeries, graph
from ..stream.info import ALL, STREAM
from .info import CONSUMER, chosen

RATE = "{:,.1f}".format
SERIES = (
    PlotSeries(
        "Messages Delivered / second", lambda info: float(info["delivered"]["consumer_seq"]), RATE, rate=True
    ),
    PlotSeries(
        "Messages Acknowledged / second",
        lambda info: float(info["ack_floor"]["consumer_seq"]),
        RATE,
        rate=True,
    ),
    PlotSeries("Messages Pending", lambda info: float(info["num_pending"])),
    PlotSeries("Messages Waiting for Ack", lambda info: float(info["num_ack_pending"])),
)


@click.command("graph", cls=Command)
@STREAM
@CONSUMER
@ALL
async def consumer_graph(stream: str, consumer: str, all_streams: bool) -> None:
    """Plot a Consumer's rates and what waits for it, every second until Ctrl-C."""
    async with connect() as connection:
        stream, consumer = await chosen(connection, stream, consumer, everything=all_streams)

        async def read() -> dict[str, Any]:
            return await connection.js.consumer_info(stream, consumer)

        await graph(f"Consumer Statistics for {stream} > {consumer}", SERIES, read)
