"""`pyjs server graph`: how busy a server is, as plots."""

from __future__ import annotations

from typing import Any

import click

from ...cli.command import Command
from ...cli.connection import connect
from ...cli.output.graph import PlotSeries, graph
from ...cli.words import size
from .info import one
from .poll import poll

Info = dict[str, Any]


def _bytes(value: float) -> str:
    return size(round(value))


def _percent(value: float) -> str:
    return f"{value:.1f}%"


def _both(name: str) -> Any:
    return lambda varz: float(varz.get(f"in_{name}", 0) + varz.get(f"out_{name}", 0))


def _stats(varz: Info) -> Info:
    return (varz.get("jetstream") or {}).get("stats") or {}


CPU = PlotSeries(
    "CPU % Used (of all cores)", lambda varz: varz.get("cpu", 0) / (varz.get("cores") or 1), _percent
)
SERVER = (
    CPU,
    PlotSeries("Memory Used", lambda varz: float(varz.get("mem", 0)), _bytes),
    PlotSeries("Connections", lambda varz: float(varz.get("connections", 0))),
    PlotSeries("Subscriptions", lambda varz: float(varz.get("subscriptions", 0))),
    PlotSeries("Messages In+Out / second", _both("msgs"), "{:,.1f}".format, rate=True),
    PlotSeries("Bytes In+Out / second", _both("bytes"), _bytes, rate=True),
)
JETSTREAM = (
    CPU,
    PlotSeries("Memory Storage", lambda varz: float(_stats(varz).get("memory", 0)), _bytes),
    PlotSeries("File Storage", lambda varz: float(_stats(varz).get("storage", 0)), _bytes),
    PlotSeries("HA Assets", lambda varz: float(_stats(varz).get("ha_assets", 0))),
    PlotSeries(
        "API Requests / second",
        lambda varz: float((_stats(varz).get("api") or {}).get("total", 0)),
        "{:,.1f}".format,
        rate=True,
    ),
    PlotSeries(
        "Pending API Requests", lambda varz: float((_stats(varz).get("api") or {}).get("inflight", 0))
    ),
)


@click.command("graph", cls=Command)
@click.argument("server", metavar="SERVER")
@click.option("-j", "--jetstream", is_flag=True, help="Plot JetStream's numbers.")
async def server_graph(server: str, jetstream: bool) -> None:
    """Plot the numbers of a server, by its name or id, every second until Ctrl-C."""
    async with connect() as connection:
        found = await one(connection, server)
        subject = f"$SYS.REQ.SERVER.{found['server_id']}.VARZ"

        async def read() -> Info:
            answers = await poll(connection, subject, expect=1)
            return answers[0].document.get("data") or {}

        what = "JetStream Statistics" if jetstream else "Server Statistics"
        heading = f"{what} for {found.get('server_name', '')}"
        await graph(heading, JETSTREAM if jetstream else SERVER, read)
