"""`pyjs schema`: JSON Schemas of what goes in and out."""

from __future__ import annotations

from ...cli.command import CommandGroup, table_rows

_ROWS = (("cli", "outputs:cli", "What each command prints as JSON", ()),)

schema = CommandGroup(
    name="schema",
    help="JSON Schemas of what goes in and out.",
    rows=table_rows("pyjs.plugins.schema", _ROWS),
)
