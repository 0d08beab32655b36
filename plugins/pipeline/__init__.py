"""`pyjs pipeline`: declared pipelines on Spark. The commands are rows; each is imported when it is called."""

from __future__ import annotations

import click

from ...cli.command import CommandGroup, table_rows

_ROWS = (
    ("check", "check:check", "Validate a document and show its plan; run nothing", ("validate",)),
    ("init", "init:init", "Write a document to start from", ("new",)),
    ("lag", "lag:lag", "How far a pipeline is behind its streams", ()),
    ("ls", "listing:ls", "The pipelines that ran here, or the runs of one", ("list",)),
    ("report", "report:report", "Draw throughput, lag and batch time of a run", ()),
    ("run", "run:run", "Run a pipeline on Spark", ()),
    ("status", "status:status", "What a run does or did", ("info",)),
)


@click.group(cls=CommandGroup, rows=table_rows("pyjs.plugins.pipeline", _ROWS))
def pipeline() -> None:
    """JetStream streams through Spark: pipelines declared in YAML."""
