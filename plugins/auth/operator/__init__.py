"""`pyjs auth operator`: the commands are rows; each is imported when it is called."""

from __future__ import annotations

from ....cli.command import CommandGroup, CommandRow, table_rows

HERE = "pyjs.plugins.auth.operator"

_ROWS = (
    ("add", "add:add", "Make an operator with its system account", ()),
    ("backup", "backup:backup", "Save an operator with all its secrets", ()),
    ("edit", "add:edit", "Change an operator's URLs and tags", ("update",)),
    ("import", "backup:import_", "Take over an operator from its token and keys", ()),
    ("info", "info:info", "Show an operator", ("i", "show", "view")),
    ("list", "info:listing", "List the operators", ("ls",)),
    ("restore", "backup:restore", "Make an operator from a backup", ()),
    ("select", "info:select", "Choose the current operator", ()),
)

operator = CommandGroup(
    name="operator",
    help="Manage operators.",
    rows=[
        *table_rows(HERE, _ROWS),
        CommandRow("keys", f"{HERE}.keys:keys", "Manage an operator's signing keys", ("sk", "s")),
    ],
)
