"""`pyjs pipeline ls`: the pipelines that were run on this machine, or the runs of one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ...cli import render
from ...cli.command import Command
from ...cli.errors import NotFoundError, close_matches
from . import documents, runs

if TYPE_CHECKING:
    from ...pipeline.declared.record import PipelineRun

PIPELINES = ("Pipeline", "State", "Runs", "Last Run", "Batches", "Rows In", "Rows Out", "Behind", "Document")
RUNS = ("Run", "State", "Started", "Took", "Batches", "Rows In", "Rows Out", "Behind", "On")


@click.command(cls=Command)
@click.argument("pipeline", default="", shell_complete=runs.complete)
@click.option("-j", "--json", "as_json", is_flag=True, help="Produce JSON output.")
@click.option("-n", "--names", is_flag=True, help="Only the names.")
def ls(pipeline: str, as_json: bool, names: bool) -> None:
    """List the pipelines that were run on this machine, or the runs of PIPELINE."""
    try:
        from ...pipeline.declared import record
    except ImportError as error:
        raise documents.lacking(error) from None
    known = record.pipelines()
    if pipeline and pipeline not in known:
        raise NotFoundError(f'unknown pipeline "{pipeline}"', close_matches(pipeline, known))
    found = (
        record.runs(pipeline) if pipeline else [newest[0] for each in known if (newest := record.runs(each))]
    )
    if as_json:
        render.show_json([runs.document(run, run.batches()) for run in found])
    elif names:
        for run in found:
            render.show(run.id if pipeline else run.pipeline)
    elif not found:
        render.show("No pipelines were run here")
    elif pipeline:
        render.show(render.table(f"Runs of {pipeline}", RUNS, [_run(run) for run in found]))
    else:
        counts = {each: len(record.runs(each)) for each in known}
        rows = [_pipeline(run, counts[run.pipeline]) for run in found]
        render.show(render.table("Pipelines", PIPELINES, rows))


def _pipeline(run: PipelineRun, count: int) -> tuple[str, ...]:
    started = render.when(str(run.facts.get("started", "")))
    return run.pipeline, run.state, render.number(count), started, *_sums(run), str(run.facts.get("file", ""))


def _run(run: PipelineRun) -> tuple[str, ...]:
    started = str(run.facts.get("started", ""))
    took = render.span(render.since(started, str(run.outcome.get("time") or "")))
    if run.state == "crashed":
        took = ""
    return run.id, run.state, render.when(started), took, *_sums(run), str(run.facts.get("on", ""))


def _sums(run: PipelineRun) -> tuple[str, ...]:
    from ...pipeline.declared.progress import Totals

    totals = Totals.of(run.batches())
    lag = "" if totals.lag is None else render.number(totals.lag)
    return render.number(totals.batches), render.number(totals.rows_in), render.number(totals.rows_out), lag
