"""Runs as commands name and show them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ...cli.errors import NotFoundError, close_matches
from . import documents

if TYPE_CHECKING:
    from ...pipeline.declared.progress import Batch
    from ...pipeline.declared.record import PipelineRun


def complete(_context: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Return the names of pipelines and the ids of runs that start so."""
    from ...pipeline.declared import record

    names = record.pipelines()
    ids = [run.id for name in names for run in record.runs(name)] if "." in incomplete else []
    return [each for each in (*names, *ids) if each.startswith(incomplete)]


def found(name: str) -> PipelineRun:
    """Return the run called `name`: an id, a pipeline's newest, or the newest of all. Raises CliError."""
    try:
        from ...pipeline.declared import record
    except ImportError as error:
        raise documents.lacking(error) from None
    run = record.find(name)
    if run is not None:
        return run
    if not name:
        raise NotFoundError("no pipeline was run here", "'pyjs pipeline run FILE' runs one")
    pipeline = name.rpartition(".")[0] or name
    runs = record.runs(pipeline) if pipeline in record.pipelines() else []
    if runs:
        raise NotFoundError(f'unknown run "{name}"', f"the newest of {pipeline} is {runs[0].id}")
    known = record.pipelines()
    hint = close_matches(name, known) or "'pyjs pipeline ls' shows all"
    raise NotFoundError(f'unknown pipeline "{name}"', hint)


def document(run: PipelineRun, batches: list[Batch]) -> dict[str, Any]:
    """Return a run as a document for machines."""
    from ...pipeline.declared.progress import Totals

    facts = {key: value for key, value in run.facts.items() if key != "steps"}
    return {
        "run": run.id,
        "state": run.state,
        **facts,
        "ended": run.outcome.get("time"),
        "error": run.outcome.get("error", ""),
        **Totals.of(batches).to_json(),
        "last": [batch.to_json() for batch in last(batches).values()],
    }


def last(batches: list[Batch]) -> dict[str, Batch]:
    """Return the newest batch of each sink."""
    return {batch.sink: batch for batch in batches}
