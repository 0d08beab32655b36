"""`pyjs pipeline status`: what a run does or did; works during the run and after it, however it ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ...cli import output, render
from ...cli.command import Command
from ...cli.errors import CliError
from . import lag, runs

if TYPE_CHECKING:
    from ...pipeline.declared.progress import Batch
    from ...pipeline.declared.record import PipelineRun

WIDTH = 14
SOURCES = ("Sink", "Source", "Stream", "Domain", "Next", "Stream's Last", "Behind", "Waiting", "Problem")
COLUMNS = ("Sink", "Batch", "Done", "Rows In", "Rows Out", "Rows/s", "Behind", "Batch Time", "Watermark")


@click.command(cls=Command)
@output.showing("pipeline_run")
@click.argument("run", metavar="[RUN]", default="", shell_complete=runs.complete)
def status(run: str) -> None:
    """Show a run: RUN is its id (orders.3) or a pipeline, for its newest; without it the newest of all.

    The lag of its sources is that of now, from the checkpoint and the streams.
    """
    found = runs.found(run)
    batches = found.batches()
    lines = _page(found, batches)
    newest = runs.last(batches)
    lines += _rules(found, batches)
    if newest:
        rows = [_row(batch) for batch in newest.values()]
        lines += ["", render.table("Last Batches", COLUMNS, rows)]
    sources, problem = _sources(found)
    if sources:
        lines += ["", render.table("Sources Now", SOURCES, [_source(each) for each in sources])]
    elif problem:
        lines += ["", f"The lag of its sources is not known: {problem}"]
    document = {**runs.document(found, batches), "sources": sources, "sources_error": problem}
    output.show_page(document, "\n".join(lines), name=found.id)


def _sources(run: PipelineRun) -> tuple[list[dict[str, Any]], str]:
    """Return how far the run's pipeline is behind now, or why that is not known."""
    if not run.facts.get("checkpoint"):
        return [], ""
    try:
        return lag.records(run.pipeline, lag.of_run(run)), ""
    except CliError as error:  # the document was moved, say; the record is there all the same
        return [], error.message


def _source(record: dict[str, Any]) -> tuple[str, ...]:
    names = ("sink", "source", "stream", "domain", "next", "last", "behind", "oldest", "error")
    cells = {column.field: column.cell(record) for column in lag.LAGS.columns}
    return tuple(cells[name] for name in names)


def _page(run: PipelineRun, batches: list[Batch]) -> list[str]:
    from ...pipeline.declared.progress import Totals

    facts, outcome, totals = run.facts, run.outcome, Totals.of(batches)
    started = str(facts.get("started", ""))
    state = run.state + (f", process {facts.get('pid')}" if run.state == "running" else "")
    ended = str(outcome.get("time") or "")
    lines = [f"Run {run.id}", ""]
    for label, value in (
        ("State", state),
        ("Error", str(outcome.get("error") or "")),
        ("Document", str(facts.get("file", ""))),
        ("Runs", str(facts.get("runs", ""))),
        ("On", str(facts.get("on", ""))),
        ("Started", render.when(started)),
        ("Ended", render.when(ended) if ended else ""),
        ("Took" if ended else "For", "" if run.state == "crashed" else _took(started, ended)),
        ("Batches", render.number(totals.batches)),
        ("Rows In", render.number(totals.rows_in)),
        ("Rows Out", render.number(totals.rows_out)),
        ("Behind", "" if totals.lag is None else render.number(totals.lag)),
        ("Checkpoint", str(facts.get("checkpoint", ""))),
        ("Log", str(run.log)),
    ):
        if value:
            lines.append(render.field(label, value, WIDTH))
    if run.state == "crashed":
        lines += ["", "Its process ended without a word; the checkpoint is good, another run goes on there."]
    return lines


def _rules(run: PipelineRun, batches: list[Batch]) -> list[str]:
    """Return the rules of a run as a table: how many rows broke each, and what became of them."""
    from ...pipeline.declared.progress import Totals

    meaning = run.facts.get("rules") or {}
    broken = Totals.of(batches).rules
    rows = [(rule, otherwise, render.number(broken.get(rule, 0))) for rule, otherwise in meaning.items()]
    return ["", render.table("Rules", ("Rule", "Otherwise", "Rows"), rows)] if rows else []


def _took(started: str, ended: str) -> str:
    return render.span(render.since(started, ended))


def _row(batch: Batch) -> tuple[str, ...]:
    return (
        batch.sink,
        str(batch.batch),
        render.when(batch.time),
        _number(batch.rows_in),
        _number(batch.rows_out),
        "" if batch.rate is None else render.number(round(batch.rate)),
        _number(batch.lag),
        f"{batch.seconds:.2f}s",
        batch.watermark or "",
    )


def _number(value: int | None) -> str:
    return "" if value is None else render.number(value)
