"""`pyjs pipeline ls`: the pipelines that were run on this machine, or the runs of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ...cli import output, render
from ...cli.command import Command
from ...cli.errors import NotFoundError, close_matches
from ...cli.output import NAME, NUMBER, SPAN, TIME, WORD, Column, Table
from . import documents, runs

if TYPE_CHECKING:
    from ...pipeline.declared.record import PipelineRun

NONE = "No pipelines were run here"
TOTALS = (
    Column("batches", "Batches", NUMBER),
    Column("rows_in", "Rows In", NUMBER),
    Column("rows_out", "Rows Out", NUMBER),
    Column("behind", "Behind", NUMBER, nullable=True),
)
PIPELINES = Table(
    "pipelines",
    "Pipelines",
    (
        Column("pipeline", "Pipeline", NAME),
        Column("state", "State", WORD),
        Column("runs", "Runs", NUMBER),
        Column("started", "Last Run", TIME, show=lambda each: render.when(each["started"])),
        *TOTALS,
        Column("file", "Document", NAME),
    ),
    key="pipeline",
    empty=NONE,
    spare=("file", "batches", "runs", "started"),
)
RUNS = Table(
    "runs",
    "Runs",
    (
        Column("run", "Run", NAME),
        Column("state", "State", WORD),
        Column("started", "Started", TIME, show=lambda each: render.when(each["started"])),
        Column("took", "Took", SPAN, nullable=True),
        *TOTALS,
        Column("on", "On", NAME),
    ),
    key="run",
    empty=NONE,
    spare=("on", "batches", "took", "started"),
)


@click.command(cls=Command)
@output.listing(PIPELINES, alternative=(RUNS,), legacy="the documents of the runs")
@click.argument("pipeline", default="", shell_complete=runs.complete)
@click.option("-n", "--names", is_flag=True, help="Only the names.")
def ls(pipeline: str, names: bool) -> None:
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
    if names:
        for run in found:
            render.show(run.id if pipeline else run.pipeline)
        return
    document = [runs.document(run, run.batches()) for run in found]
    if pipeline:
        output.show(RUNS.of(map(_run, found), title=f"Runs of {pipeline}"), document=document)
        return
    counts = {each: len(record.runs(each)) for each in known}
    output.show(PIPELINES.of(_pipeline(run, counts[run.pipeline]) for run in found), document=document)


def _pipeline(run: PipelineRun, count: int) -> dict[str, Any]:
    facts = {name: str(run.facts.get(name, "")) for name in ("started", "file")}
    return {"pipeline": run.pipeline, "state": run.state, "runs": count, **facts, **_totals(run)}


def _run(run: PipelineRun) -> dict[str, Any]:
    facts = {name: str(run.facts.get(name, "")) for name in ("started", "on")}
    took = render.since(facts["started"], str(run.outcome.get("time") or ""))
    crashed = run.state == "crashed"
    return {"run": run.id, "state": run.state, "took": None if crashed else took, **facts, **_totals(run)}


def _totals(run: PipelineRun) -> dict[str, Any]:
    from ...pipeline.declared.progress import Totals

    totals = Totals.of(run.batches())
    counts = {"batches": totals.batches, "rows_in": totals.rows_in, "rows_out": totals.rows_out}
    return {**counts, "behind": totals.lag}
