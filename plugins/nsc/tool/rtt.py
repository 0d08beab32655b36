"""`nsc tool rtt`: measures the round trip time to the server."""

from __future__ import annotations

import time
from typing import Any

import click

from ....protocol.duration import format_go
from ..command import NscCommand
from .user import connected, flushed, user_flags


@click.command(cls=NscCommand)
@click.argument("ignored", nargs=-1)
@user_flags
async def rtt(ignored: tuple[str, ...], **given: Any) -> None:
    """Measure the round trip time to the server, as a user of an account."""
    async with connected(given, "nsc_rtt") as connection:
        await flushed(connection)
        began = time.perf_counter_ns()
        await connection.nc.flush()
        click.echo(f"round trip time to [{connection.url}] = {format_go(time.perf_counter_ns() - began)}")
