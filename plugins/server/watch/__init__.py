"""`pyjs server watch`: what servers and accounts do, as the servers report it, until Ctrl-C.

`live` listens and draws; each other module has the views of one kind.
"""

from __future__ import annotations

import click

from ....cli.command import CommandGroup, table_rows

_ROWS = (
    ("accounts", "accounts:accounts", "Connections and traffic of accounts", ("account", "acct")),
    ("api", "api:api", "The JetStream API", ()),
    ("jetstream", "statistics:jetstream", "JetStream of each server", ("js", "jsz")),
    ("servers", "statistics:servers", "Load and traffic of each server", ("server", "srv")),
)


@click.group(cls=CommandGroup, rows=table_rows("pyjs.plugins.server.watch", _ROWS))
def watch() -> None:
    """Watch what servers and accounts do."""
