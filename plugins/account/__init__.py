"""`pyjs account`: the account of the connection."""

from __future__ import annotations

from ...cli.command import CommandGroup, table_rows

_ROWS = (
    ("info", "info:info", "Who one is, and what JetStream gives the account", ("nfo",)),
    ("resolver", "resolver:resolver", "What the servers of an operator hold of its accounts", ()),
)

account = CommandGroup(
    name="account", help="Account information and status.", rows=table_rows("pyjs.plugins.account", _ROWS)
)
