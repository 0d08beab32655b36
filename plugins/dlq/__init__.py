"""`pyjs dlq`: dead letters, the messages that consumers have given up."""

from __future__ import annotations

from ...cli.command import CommandGroup, table_rows

_ROWS = (
    ("add", "add:add", "Keep what a Stream's consumers give up", ()),
    ("ls", "listing:ls", "List the Streams with dead letters, or the letters of one", ("list",)),
    ("replay", "replay:replay", "Publish dead letters again, each once", ()),
    ("rm", "remove:remove", "Delete dead letters", ("del",)),
    ("stop", "stop:stop", "Keep no more of what a Stream's consumers, or one of them, give up", ()),
    ("show", "show:show", "A dead letter with its message", ("view", "get")),
)

dlq = CommandGroup(
    name="dlq",
    help="Dead letters: messages that reached the maximum of deliveries or were terminated.",
    rows=table_rows("pyjs.plugins.dlq", _ROWS),
)
