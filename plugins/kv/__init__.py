"""`pyjs kv`: key-value buckets. The commands are rows; each is imported when it is called."""

from __future__ import annotations

from ...cli.command import CommandGroup, table_rows

_ROWS = (
    ("add", "add:add", "Create a bucket", ("new",)),
    ("compact", "remove:compact", "Remove what deleted keys left behind", ()),
    ("create", "values:create", "Store a value only if the key does not exist", ()),
    ("del", "remove:delete", "Delete a key, or a whole bucket", ("rm",)),
    ("edit", "add:edit", "Change a bucket's settings", ()),
    ("get", "values:get", "Show the value of a key", ()),
    ("history", "history:history", "Show the revisions of a key", ()),
    ("info", "info:info", "A bucket's settings and state", ("view", "status")),
    ("ls", "listing:ls", "List the buckets, or the keys of one", ("list",)),
    ("purge", "remove:purge", "Delete a key with its history", ()),
    ("put", "values:put", "Store a value", ()),
    ("revert", "history:revert", "Store the value of an earlier revision again", ()),
    ("update", "values:update", "Store a value only if the key has the given revision", ()),
    ("watch", "watch:watch", "Show changes as they come", ()),
)

kv = CommandGroup(
    name="kv",
    help="Key-value buckets on JetStream: keys with values, their history and their changes.",
    rows=table_rows("pyjs.plugins.kv", _ROWS),
)
