"""`pyjs server report`: tables about all servers that the system account sees."""

from __future__ import annotations

import click

from ...cli.command import Group, table_rows

_ROWS = (
    ("accounts", "connections:accounts", "Traffic of accounts", ("acct",)),
    ("connections", "connections:connections", "Who is connected", ("conn", "connz", "conns")),
    ("jetstream", "jetstream:jetstream", "JetStream of each server", ("jsz", "js")),
    ("leafnodes", "leafnodes:leafnodes", "Leaf connections of each server", ("leaf", "leafz")),
)


@click.group(cls=Group, rows=table_rows("pyjs.plugins.server", _ROWS))
@click.option("-R", "--reverse", "backwards", is_flag=True, help="Sort in reverse order.")
def report(backwards: bool) -> None:
    """Report on all servers."""
