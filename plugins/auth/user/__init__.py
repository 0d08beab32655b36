"""`pyjs auth user`: the commands are rows; each is imported when it is called."""

from __future__ import annotations

from ....cli.command import CommandGroup, table_rows

_ROWS = (
    ("add", "add:add", "Make a user", ("create", "new")),
    ("credential", "credential:credential", "Write a user's credentials to a file", ("cred", "creds")),
    ("edit", "add:edit", "Change a user's permissions and limits", ("update",)),
    ("info", "info:info", "Show a user", ("i", "show", "view")),
    ("ls", "info:ls", "List the users of an account", ()),
    ("rm", "remove:remove", "Remove a user", ()),
)

user = CommandGroup(
    name="user", help="Manage users of accounts.", rows=table_rows("pyjs.plugins.auth.user", _ROWS)
)
