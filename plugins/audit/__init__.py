"""`pyjs audit`: saves what servers say of themselves in a file, and examines such files."""

from __future__ import annotations

from ...cli.command import CommandGroup, table_rows

_ROWS = (
    ("analyze", "analyze:analyze", "Examine an archive", ()),
    ("checks", "listing:checks", "What is examined", ("ls",)),
    ("gather", "gather:gather", "Save what servers say of themselves in an archive", ("capture", "cap")),
)

audit = CommandGroup(
    name="audit",
    help="Save what all servers say of themselves in one file, and examine it.",
    rows=table_rows("pyjs.plugins.audit", _ROWS),
)
