"""`pyjs bench`: what a server achieves, measured from outside. Each command is imported when it is called."""

from __future__ import annotations

import click

from ...cli.command import CommandGroup, CommandRow, table_rows

_ROWS = (
    ("js", "jetstream:js", "Publish to streams, and read them", ()),
    ("kv", "kv:kv", "Put and get keys", ()),
    ("pub", "core:pub", "Publish messages without JetStream", ()),
    ("service", "service:service", "Send requests, and answer them", ()),
    ("sub", "core:sub", "Receive messages without JetStream", ()),
)
_OLD = CommandRow(
    "oldjs", "pyjs.plugins.bench.oldjs:oldjs", "Read streams in the ways of the older clients", hidden=True
)


@click.group(cls=CommandGroup, rows=[*table_rows("pyjs.plugins.bench", _ROWS), _OLD])
def bench() -> None:
    """Measure what a server achieves.

    Each client is a process with a connection of its own; of more than 64 clients, several share a process.
    Messages are prepared as bytes and written to the socket many at once, so that Python holds the server up
    as little as possible.
    """
