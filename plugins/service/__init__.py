"""`pyjs service`: finding services and asking them (ADR-32). Each command is imported when it is called."""

from __future__ import annotations

import click

from ...cli.command import CommandGroup, table_rows

_ROWS = (
    ("info", "info:info", "What one instance of a service is, and its statistics", ("i",)),
    ("list", "listing:list_services", "List the services, or the instances of one", ("ls", "l")),
    ("ping", "listing:ping", "Find services by a ping", ()),
    ("request", "request:request", "Send a request to an endpoint of a service", ("req",)),
    ("serve", "serve:serve", "Run a demonstration service", ()),
    ("stats", "stats:stats", "Statistics of a service", ()),
)


@click.group(cls=CommandGroup, rows=table_rows("pyjs.plugins.service", _ROWS))
def service() -> None:
    """Find services, and ask them."""
