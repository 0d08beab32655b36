"""`pyjs pipeline report`: a run's throughput, lag and batch time as one HTML file."""

from __future__ import annotations

from pathlib import Path

import click

from ...cli import render
from ...cli.command import Command
from ...cli.errors import CliError
from . import runs


@click.command(cls=Command)
@click.argument("run", metavar="[RUN]", default="", shell_complete=runs.complete)
@click.option(
    "--html",
    "file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The file to write (default: RUN.html); it stands alone, nothing is loaded.",
)
def report(run: str, file: Path | None) -> None:
    """Draw a run: RUN is its id (orders.3) or a pipeline, for its newest; without it the newest of all."""
    found = runs.found(run)
    from ...pipeline.declared import report as pages

    file = file or Path(f"{found.id}.html")
    if not file.parent.is_dir():
        raise CliError(f"there is no folder {file.parent}", "--html FILE names where to write")
    file.write_text(pages.html(found), encoding="utf-8")
    count = len(found.batches())
    if not count:
        render.show(f"{file} was written, but {found.id} has no batches. {pages.empty(found)}")
        return
    render.show(f"{file} was written: {count:,} {'batch' if count == 1 else 'batches'} of {found.id}")
