"""`pyjs consumer`: managing and using JetStream consumers. The commands are rows, imported when called."""

from __future__ import annotations

import click

from ...cli.command import Group, table_rows

_ROWS = (
    ("add", "add:add", "Create a Consumer", ("create", "new")),
    ("info", "info:info", "A Consumer's configuration and state", ("nfo",)),
    ("ls", "listing:ls", "List the Consumers of a Stream", ("list",)),
    ("next", "messages:next_message", "Fetch messages from a pull Consumer", ()),
    ("report", "report:report", "How far the Consumers of a Stream are", ()),
    ("state", "info:state", "A Consumer's state only", ()),
)


@click.group(cls=Group, rows=table_rows("pyjs.plugins.consumer", _ROWS))
@click.option("-a", "--all", "all_streams", is_flag=True, help="Offer Streams of KV and object stores too.")
def consumer(all_streams: bool) -> None:
    """JetStream Consumer management."""
