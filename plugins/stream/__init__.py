"""`pyjs stream`: managing JetStream streams. The commands are rows; each is imported when it is called."""

from __future__ import annotations

import click

from ...cli.command import CommandGroup, table_rows

_ROWS = (
    ("add", "add:add", "Create a Stream", ("create", "new")),
    ("backup", "backup:backup", "Save a Stream into a directory", ("snapshot",)),
    ("cluster", "cluster:cluster", "The leader and the replicas of Streams", ("c",)),
    ("copy", "edit:copy", "Create a Stream from another one's configuration", ("cp",)),
    ("edit", "edit:edit", "Change a Stream's configuration", ("update",)),
    ("find", "find:find", "Find Streams by criteria", ("query",)),
    ("gaps", "subjects:gaps", "Sequences that are missing in a Stream", ()),
    ("get", "messages:get", "Show one message of a Stream", ()),
    ("graph", "graph:stream_graph", "A Stream's messages and rates as plots", ()),
    ("info", "info:info", "A Stream's configuration and state", ("nfo", "i")),
    ("ls", "listing:ls", "List the Streams", ("list", "l")),
    ("purge", "remove:purge", "Remove messages from a Stream", ()),
    ("report", "report:report", "Sizes of all Streams, and how copies keep up", ()),
    ("restore", "backup:restore", "Load a Stream from a directory", ()),
    ("rm", "remove:rm", "Delete a Stream", ("delete", "del")),
    ("rmm", "remove:rmm", "Erase one message of a Stream", ()),
    ("seal", "remove:seal", "Make a Stream read-only for good", ()),
    ("state", "info:state", "A Stream's state only", ()),
    ("subjects", "subjects:subjects", "Subjects of a Stream with their message counts", ("subj",)),
    ("template", "template:template", "Stream Templates of a server with legacy_api", ("templ", "t")),
    ("view", "messages:view", "Page through the messages of a Stream", ()),
)


@click.group(cls=CommandGroup, rows=table_rows("pyjs.plugins.stream", _ROWS))
@click.option("-a", "--all", "all_streams", is_flag=True, help="Include Streams of KV and object stores.")
def stream(all_streams: bool) -> None:
    """JetStream Stream management."""
