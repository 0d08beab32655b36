"""`nsc list`: lists what is stored."""

from __future__ import annotations

from ....cli.command import table_rows
from ..command import NscGroup, options_of
from .flags import JSON

listing = NscGroup(
    name="list",
    help="List operators, accounts, users and keys.",
    params=options_of(JSON),
    rows=table_rows(
        "pyjs.plugins.nsc.list",
        [
            ("accounts", "entities:accounts", "List accounts", ("account",)),
            ("keys", "keys:keys", "List keys, and whether their seeds are stored", ("key",)),
            ("operators", "entities:operators", "List operators", ("operator",)),
            ("users", "entities:users", "List users", ("user",)),
        ],
    ),
)
