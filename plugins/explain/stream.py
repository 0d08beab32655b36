"""`pyjs explain stream`: why nothing arrives in a stream, or does not stay there."""

from __future__ import annotations

import click

from ...cli import output
from ...cli.command import Command
from ...cli.connection import NatsConnection, connect
from ...cli.errors import ExitCode
from ..stream.info import ALL, STREAM, chosen
from . import queries
from .filter_findings import voids
from .finding import FINDINGS, Finding, show
from .publisher import asked, refusal_of_all
from .stream_findings import never_published, of_stream

MOST_CONSUMERS = 256  # that are asked for only because their filters may have become void


@click.command(cls=Command)
@output.listing(FINDINGS)
@STREAM
@ALL
async def stream(stream: str, all_streams: bool) -> ExitCode:
    """Say why nothing arrives in STREAM: limits, interest, mirrors and sources, servers."""
    async with connect() as connection:
        stream = await chosen(connection, stream, everything=all_streams)
        found = await _findings(connection, stream)
    return show(f"Stream {stream}", found, "nothing keeps messages from arriving")


async def _findings(connection: NatsConnection, stream: str) -> list[Finding]:
    facts = await queries.stream_of(connection, stream)
    if isinstance(facts, Finding):
        return [facts]
    consumers = facts.consumers
    if not consumers and 0 < facts.state.get("consumer_count", 0) <= MOST_CONSUMERS:
        consumers = tuple(await queries.allowed(connection.js.consumers(stream)) or ())
    found = [*of_stream(facts), *voids(facts.info, consumers)]
    subjects = facts.config.get("subjects") or []
    if subjects and not facts.state.get("last_seq"):
        publisher = await asked(connection, queries.UNREACHABLE_SECONDS)
        mute = publisher.mute("to its subjects", lambda lists: refusal_of_all(lists, subjects))
        found += never_published(facts, mute)
    return found
