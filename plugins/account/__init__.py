"""`pyjs account`: the account of the connection."""

from __future__ import annotations

from ...cli.command import CommandGroup, table_rows

_ROWS = (
    ("backup", "backup:backup", "Save all Streams into a directory", ("snapshot",)),
    ("info", "info:info", "Who one is, and what JetStream gives the account", ("nfo",)),
    ("report", "report:report", "Connections and traffic of the account", ("rep",)),
    ("resolver", "resolver:resolver", "What the servers of an operator hold of its accounts", ()),
    ("restore", "backup:restore", "Load all Streams from a directory", ()),
    ("tls", "tls:tls", "The certificates of the server connected to", ()),
)

account = CommandGroup(
    name="account", help="Account information and status.", rows=table_rows("pyjs.plugins.account", _ROWS)
)
