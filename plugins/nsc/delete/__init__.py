"""`nsc delete`."""

from __future__ import annotations

from ....cli.command import table_rows
from ..command import NscGroup

delete = NscGroup(
    name="delete",
    help="Delete an operator, account, user or something of theirs.",
    rows=table_rows(
        "pyjs.plugins.nsc.delete",
        [
            ("account", "account:account", "Delete an account", ()),
            ("user", "user:user", "Delete a user", ()),
            ("export", "exports:delete", "Delete an export", ()),
            ("import", "imports:delete", "Delete an import", ()),
            ("mapping", "mappings:delete", "Delete a mapping", ()),
        ],
    ),
)
