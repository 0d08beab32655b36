"""`nsc rename`."""

from __future__ import annotations

from ....cli.command import table_rows
from ..command import NscGroup

rename = NscGroup(
    name="rename",
    help="Rename an account.",
    rows=table_rows(
        "pyjs.plugins.nsc.rename", [("account", "account:account", "Rename an account, with its users", ())]
    ),
)
