"""`pyjs explain stream`: why nothing arrives in a stream, or does not stay there."""

from __future__ import annotations

import click

from ...cli import output
from ...cli.command import Command
from ...cli.connection import connect
from ...cli.errors import ExitCode
from ..stream.info import ALL, STREAM, chosen
from . import queries
from .finding import FINDINGS, Finding, show
from .stream_findings import of_stream


@click.command(cls=Command)
@output.listing(FINDINGS)
@STREAM
@ALL
async def stream(stream: str, all_streams: bool) -> ExitCode:
    """Say why nothing arrives in STREAM: limits, interest, mirrors and sources, servers."""
    async with connect() as connection:
        stream = await chosen(connection, stream, everything=all_streams)
        facts = await queries.stream_of(connection, stream)
    found = [facts] if isinstance(facts, Finding) else of_stream(facts)
    return show(f"Stream {stream}", found, "nothing keeps messages from arriving")
