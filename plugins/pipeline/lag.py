"""`pyjs pipeline lag`: how far each sink is behind each of its streams, as a report on consumers says it.

The positions are in the checkpoint, and the streams are asked: it works whether the pipeline runs or not.
"""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...cli import output, render
from ...cli.command import Command
from ...cli.errors import CliError
from ...cli.output import NAME, NUMBER, TEXT, TIME, Column, Table
from ...protocol.timestamp import parse_rfc3339
from . import documents, runs

if TYPE_CHECKING:
    from ...pipeline.declared.lag import SourceLag
    from ...pipeline.declared.record import PipelineRun


def _waiting(record: Any) -> str:
    oldest = record["oldest"]
    return render.span(max(0, time.time_ns() - parse_rfc3339(oldest))) if oldest else ""


def _behind(record: Any) -> str:
    behind = record["behind"]
    return "" if behind is None else ("" if record["exact"] else "≤ ") + render.number(behind)


LAGS = Table(
    "lags",
    "Sources",
    (
        Column("pipeline", "Pipeline", NAME, same=True),
        Column("sink", "Sink", NAME),
        Column("source", "Source", NAME),
        Column("stream", "Stream", NAME),
        Column("domain", "Domain", NAME, optional=True),
        Column("next", "Next", NUMBER, nullable=True),
        Column("last", "Stream's Last", NUMBER, nullable=True),
        Column("behind", "Behind", NUMBER, show=_behind, nullable=True, main=True),
        Column("oldest", "Waiting", TIME, show=_waiting),
        Column("error", "Problem", TEXT, optional=True),
    ),
    key="stream",
    empty="There is nothing to be behind of",
    spare=("pipeline", "source"),
)


@click.command(cls=Command)
@output.listing(LAGS)
@click.argument("pipeline", metavar="[PIPELINE]", default="", shell_complete=runs.complete)
def lag(pipeline: str) -> None:
    """Show how far a pipeline is behind its streams, whether it runs or not.

    PIPELINE is the name of one that ran here, the id of a run, or a document; without it the newest.
    """
    name, found = _of_file(Path(pipeline)) if _is_file(pipeline) else _of_run(runs.found(pipeline))
    output.show(LAGS.of(records(name, found), title=f"Sources of {name}"))


def records(pipeline: str, found: list[SourceLag]) -> list[dict[str, Any]]:
    """Return the lines as records of `LAGS`."""
    return [{"pipeline": pipeline, **asdict(each)} for each in found]


def of_run(run: PipelineRun) -> list[SourceLag]:
    """Return how far the pipeline of a run is behind now. Raises CliError if its document is lost."""
    return _of_run(run)[1]


def _is_file(text: str) -> bool:
    return text.endswith((".yaml", ".yml")) or "/" in text


def _of_run(run: PipelineRun) -> tuple[str, list[SourceLag]]:
    from ...documents.problem import DocumentError
    from ...pipeline.declared import lag as lags

    file, checkpoint = str(run.facts.get("file", "")), str(run.facts.get("checkpoint", ""))
    if not checkpoint:
        raise CliError(f"{run.id} has no checkpoint", "a run of trigger: batch reads all that there is")
    try:
        loaded = documents.loaded(Path(file), trigger=str(run.facts.get("trigger", "")))
    except DocumentError as error:
        raise documents.refused(error) from None
    return run.pipeline, lags.report(loaded, checkpoint)


def _of_file(file: Path) -> tuple[str, list[SourceLag]]:
    from ...documents.problem import DocumentError

    try:
        loaded = documents.loaded(file)
    except DocumentError as error:
        raise documents.refused(error) from None
    from ...pipeline.declared import lag as lags
    from ...pipeline.declared import record

    if loaded.document.trigger == "batch":
        raise CliError(f"{file} has no checkpoint", "its trigger is batch: each run reads all that there is")
    return loaded.document.name, lags.report(loaded, record.checkpoint(loaded))
