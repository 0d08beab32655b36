"""`nsc keys`: the keystore as a whole."""

from __future__ import annotations

from ....cli.command import table_rows
from ..command import NscGroup

keys = NscGroup(
    name="keys",
    help="Manage the keystore.",
    rows=table_rows(
        "pyjs.plugins.nsc.keys",
        [("migrate", "migrate:migrate", "Move a keystore of the older layout to the present one", ())],
    ),
)
