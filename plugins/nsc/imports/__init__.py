"""`nsc import`: takes in accounts, users and keys that others made."""

from __future__ import annotations

from ....cli.command import table_rows
from ..command import NscGroup

imports = NscGroup(
    name="import",
    help="Import accounts, users and keys from files.",
    rows=table_rows(
        "pyjs.plugins.nsc.imports",
        [
            ("account", "account:account", "Import an account's token", ()),
            ("keys", "keys:keys", "Import the keys in a directory", ()),
            ("user", "user:user", "Import a user's token or credentials", ()),
        ],
    ),
)
