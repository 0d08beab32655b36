"""`pyjs schema`: JSON Schemas of what goes in and out."""

from __future__ import annotations

from ...cli.command import CommandGroup, table_rows

_ROWS = (
    ("cli", "outputs:cli", "What each command prints as JSON", ()),
    ("info", "commands:info", "Show a schema of JetStream's API", ("show", "view")),
    ("request", "commands:ask", "Send a request, and validate the answer", ("req",)),
    ("search", "commands:search", "List the schemas of JetStream's API", ("find", "list", "ls")),
    ("validate", "commands:validate", "Validate a JSON file", ("check",)),
)

schema = CommandGroup(
    name="schema",
    help="JSON Schemas of what goes in and out.",
    rows=table_rows("pyjs.plugins.schema", _ROWS),
)
