"""`pyjs object`: object buckets. The commands are rows; each is imported when it is called."""

from __future__ import annotations

from ...cli.command import CommandGroup, table_rows

_ROWS = (
    ("add", "add:add", "Create a bucket", ()),
    ("del", "remove:delete", "Delete an object, or a whole bucket", ("rm",)),
    ("edit", "add:edit", "Change a bucket's settings", ()),
    ("get", "get:get", "Save an object to a file", ()),
    ("info", "info:info", "A bucket's settings and state, or an object", ("show", "i")),
    ("ls", "listing:ls", "List the buckets, or the objects of one", ()),
    ("put", "put:put", "Store a file as an object", ()),
    ("seal", "remove:seal", "Make a bucket read-only for good", ()),
    ("watch", "watch:watch", "Show changes as they come", ()),
)

object_store = CommandGroup(
    name="object",
    help="Object buckets on JetStream: files of any size, stored in chunks.",
    rows=table_rows("pyjs.plugins.object", _ROWS),
)
