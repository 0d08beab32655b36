"""`pyjs server report`: tables about all servers that the system account sees."""

from __future__ import annotations

import click

from ...cli.command import CommandGroup, table_rows

_ROWS = (
    ("accounts", "connections:accounts", "Traffic of accounts", ("acct",)),
    ("connections", "connections:connections", "Who is connected", ("conn", "connz", "conns")),
    ("cpu", "usage:cpu", "How busy each server is", ()),
    ("downgrade", "downgrade:downgrade", "What an older API level cannot have", ()),
    ("gateways", "links:gateways", "Connections between clusters", ("super", "gateway")),
    ("health", "health:health", "What is wrong with servers, Streams and Consumers", ()),
    ("jetstream", "jetstream:jetstream", "JetStream of each server, and who leads", ("jsz", "js")),
    ("leafnodes", "leafnodes:leafnodes", "Leaf connections of each server", ("leaf", "leafz")),
    ("mem", "usage:mem", "How much memory each server takes", ()),
    ("routes", "links:routes", "Connections inside clusters", ("route",)),
)


@click.group(cls=CommandGroup, rows=table_rows("pyjs.plugins.server", _ROWS))
@click.option("-R", "--reverse", "backwards", is_flag=True, help="Sort in reverse order.")
def report(backwards: bool) -> None:
    """Report on all servers."""
