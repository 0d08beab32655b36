"""`nsc add`."""

from __future__ import annotations

from ....cli.command import table_rows
from ..command import NscGroup

add = NscGroup(
    name="add",
    help="Add an operator, account, user or something of theirs.",
    rows=table_rows(
        "pyjs.plugins.nsc.add",
        [
            ("account", "account:account", "Add an account", ()),
            ("operator", "operator:operator", "Add an operator", ()),
            ("user", "user:user", "Add a user", ()),
            ("export", "exports:add", "Add an export", ()),
            ("import", "imports:add", "Add an import", ()),
            ("mapping", "mappings:add", "Add (or modify) a mapping entry", ()),
        ],
    ),
)
