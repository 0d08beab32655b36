"""`pyjs server check`: health checks for monitoring systems, with one line and the exit codes of Nagios.

0 is OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN. Something that cannot be examined is critical. `result` has what
all checks share; each other module has the checks of one kind.
"""

from __future__ import annotations

import click

from ....cli import output
from ....cli.command import CommandGroup, CommandRow, table_rows
from .result import FORMATS, NAMESPACE

_ROWS = (
    ("connection", "client:connection", "Connecting, round trips", ("conn",)),
    ("consumer", "assets:consumer", "A Consumer's acks, pulls and progress", ()),
    ("credential", "client:credential", "How long credentials are valid", ()),
    ("jetstream", "account:jetstream", "An account's use of its limits, replicas of Streams", ("js",)),
    ("kv", "assets:kv", "A key-value bucket, its values, a key", ()),
    ("message", "assets:message", "Age and content of the last message of a subject", ()),
    ("meta", "servers:meta_group", "The meta group of a cluster", ("raft",)),
    ("request", "client:request", "A service's answer", ("req",)),
    ("server", "servers:server", "Load, uptime and settings of a server", ()),
    ("stream", "stream:stream", "A Stream's replicas, sources, mirror and messages", ()),
)


_EXPORTER = CommandRow(
    "exporter", "pyjs.plugins.server.check.exporter:exporter", "Checks as metrics, by HTTP", hidden=True
)


@click.group(cls=CommandGroup, rows=[*table_rows("pyjs.plugins.server.check", _ROWS), _EXPORTER])
@output.formats_before
@click.option(
    "--format", "form", type=click.Choice(FORMATS), help="How to show the result (default: nagios)."
)
@click.option("--namespace", metavar="NAME", help=f"Prefix of Prometheus metrics (default: {NAMESPACE}).")
@click.option("--outfile", metavar="FILE", help="Write the result to a file.")
def check(form: str | None, namespace: str | None, outfile: str | None) -> None:
    """Check servers, accounts, Streams and more; exits with Nagios' codes."""
