"""`pyjs auth account`: the commands are rows; each is imported when it is called."""

from __future__ import annotations

from ....cli.command import CommandGroup, CommandRow, table_rows

HERE = "pyjs.plugins.auth.account"

_ROWS = (
    ("add", "add:add", "Make an account", ("create", "new")),
    ("edit", "add:edit", "Change an account's limits and tags", ("update",)),
    ("info", "info:info", "Show an account", ("show", "view")),
    ("ls", "info:ls", "List the accounts of an operator", ()),
    ("push", "servers:push", "Send an account to the servers", ()),
    ("query", "servers:query", "Show an account as the servers have it", ("pull",)),
)

account = CommandGroup(
    name="account",
    help="Manage accounts.",
    rows=[
        *table_rows(HERE, _ROWS),
        CommandRow("imports", f"{HERE}.imports:imports", "Manage imports", ("i", "imp", "import")),
        CommandRow("exports", f"{HERE}.exports:exports", "Manage exports", ("e", "exp", "export")),
        CommandRow("keys", f"{HERE}.keys:keys", "Manage scoped signing keys", ("sk", "s")),
        CommandRow(
            "mappings", f"{HERE}.mappings:mappings", "Manage subject mappings", ("m", "mapping", "map")
        ),
    ],
)
