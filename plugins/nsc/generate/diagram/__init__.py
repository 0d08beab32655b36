"""`nsc generate diagram`."""

from __future__ import annotations

from .....cli.command import table_rows
from ...command import NscGroup

diagram = NscGroup(
    name="diagram",
    help="Generate diagrams of a store: PlantUML text as nsc does, and pictures.",
    rows=table_rows(
        "pyjs.plugins.nsc.generate.diagram",
        [
            ("component", "component:component", "Exports and imports of the accounts", ()),
            ("object", "entities:entities", "Operator, accounts and users with limits and keys", ()),
        ],
    ),
)
