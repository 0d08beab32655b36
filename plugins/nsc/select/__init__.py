"""`nsc select`: sets the current operator or account."""

from __future__ import annotations

from ....cli.command import table_rows
from ..command import NscGroup

select = NscGroup(
    name="select",
    help="Choose the current operator or account.",
    rows=table_rows(
        "pyjs.plugins.nsc.select",
        [
            ("account", "current:account", "Choose the current account", ()),
            ("operator", "current:operator", "Choose the current operator", ()),
        ],
    ),
)
