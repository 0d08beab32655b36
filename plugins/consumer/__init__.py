"""`pyjs consumer`: managing and using JetStream consumers. The commands are rows, imported when called."""

from __future__ import annotations

import click

from ...cli.command import CommandGroup, table_rows

_ROWS = (
    ("add", "add:add", "Create a Consumer", ("create", "new")),
    ("cluster", "cluster:cluster", "The leaders of Consumers", ("c",)),
    ("copy", "edit:copy", "Create a Consumer from another one's configuration", ("cp",)),
    ("edit", "edit:edit", "Change a Consumer's configuration", ("update",)),
    ("find", "find:find", "Find Consumers by criteria", ("query",)),
    ("graph", "graph:consumer_graph", "A Consumer's rates and lag as plots", ()),
    ("info", "info:info", "A Consumer's configuration and state", ("nfo",)),
    ("ls", "listing:ls", "List the Consumers of a Stream", ("list",)),
    ("next", "messages:next_message", "Fetch messages from a pull Consumer", ()),
    ("pause", "pause:pause", "Deliver nothing until a time", ()),
    ("report", "report:report", "How far the Consumers of a Stream are", ()),
    ("reset", "position:reset", "Set a Consumer back", ()),
    ("resume", "pause:resume", "End a pause", ()),
    ("rm", "remove:rm", "Delete a Consumer", ("delete", "del")),
    ("state", "info:state", "A Consumer's state only", ()),
    ("sub", "messages:sub", "Listen to a push Consumer", ()),
    ("unpin", "position:unpin", "Release the client a priority group is pinned to", ()),
)


@click.group(cls=CommandGroup, rows=table_rows("pyjs.plugins.consumer", _ROWS))
@click.option("-a", "--all", "all_streams", is_flag=True, help="Offer Streams of KV and object stores too.")
def consumer(all_streams: bool) -> None:
    """JetStream Consumer management."""
