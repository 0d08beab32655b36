"""`nsc export`: takes seeds out of the keystore."""

from __future__ import annotations

from ....cli.command import table_rows
from ..command import NscGroup

exports = NscGroup(
    name="export",
    help="Export keys.",
    rows=table_rows(
        "pyjs.plugins.nsc.exports",
        [("keys", "keys:keys", "Export the keys of the current operator and account", ())],
    ),
)
