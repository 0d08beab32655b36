"""`pyjs pipeline run`: runs a document on Spark, shows and records what it does, stops as asked."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Protocol

import click

from ...cli.command import Command
from ...cli.errors import CliError, ExitCode, UsageError
from ...version import __version__
from . import documents, metrics_endpoint
from .lines import JsonLines, TextLines

if TYPE_CHECKING:
    from ...pipeline.declared.backfill import BackfillSpan
    from ...pipeline.declared.document import PipelineDocument
    from ...pipeline.declared.exposition import RunMetrics
    from ...pipeline.declared.progress import Batch, Totals
    from ...pipeline.declared.reading import LoadedDocument
    from ...pipeline.declared.record import Recorder
    from ...pipeline.declared.run import Halt, Observer, Outcome

LAST_SECONDS = 5.0  # the time that Spark may take to end when it should stop at once


class Display(Protocol):
    """Shows a run; it is also an `Observer` of it."""

    def started(self, facts: dict[str, Any]) -> None:
        """The run has its folder, and Spark starts now."""

    def stopping(self, *, now: bool) -> None:
        """It was asked to stop after the current batch, or `now`."""

    def ended(self, run: str, outcome: Outcome, totals: Totals, seconds: float) -> None:
        """The run is over."""

    def close(self) -> None:
        """Restore what it uses of the terminal."""


@click.command(cls=Command)
@documents.FILE
@click.option(
    "--master", default="", metavar="URL", help="Spark's master: local[4], spark://…, yarn, k8s://…."
)
@click.option("--remote", default="", metavar="URL", help="A Spark Connect server, sc://HOST:15002.")
@documents.TRIGGER
@documents.SET
@click.option(
    "--from",
    "first",
    default="",
    metavar="DATE",
    help="Backfill: read what the streams stored from here on; 2026-11-22, or 2026-11-22T08:00:00Z.",
)
@click.option("--to", "last", default="", metavar="DATE", help="Backfill: up to here, exclusive.")
@click.option("-j", "--json", "as_json", is_flag=True, help="One JSON document a line for each event.")
@click.option(
    "--metrics",
    default="",
    metavar="[HOST:]PORT",
    help="Serve /metrics for Prometheus; without HOST, to this machine alone.",
)
@click.option("-v", "--verbose", is_flag=True, help="Have Spark's own messages on stderr, not in the log.")
@click.pass_context
def run(
    ctx: click.Context,
    file: Path,
    master: str,
    remote: str,
    trigger: str,
    given: dict[str, str],
    first: str,
    last: str,
    as_json: bool,
    metrics: str,
    verbose: bool,
) -> None:
    """Run a pipeline on Spark.

    Ctrl-C (or SIGTERM) stops it after the batch under way, the checkpoint intact; a second one stops it at
    once, and the next run does that batch again.

    --from and --to run it over that time only, with a checkpoint of its own: a backfill that was stopped goes
    on where it was. ${FROM} and ${TO} are the dates.

    Exit codes: 0, it is done, or a continuous one was stopped; 1, it failed; 130, it was stopped before it
    was done.
    """
    try:
        from ...documents.problem import DocumentError
    except ImportError as error:
        raise documents.lacking(error) from None
    try:
        span = _span(first, last)
        implied = span.variables if span else {}
        loaded = documents.loaded(file, trigger=trigger, given=given, implied=implied)
        loaded = _placed(_spanned(loaded, span), master, remote)
        documents.playable(loaded)
    except DocumentError as error:
        raise documents.refused(error) from None
    asked = metrics or loaded.document.metrics
    where = metrics_endpoint.address(asked) if asked else None
    outcome, log = _recorded(loaded, span, where, as_json=as_json, verbose=verbose)
    if outcome.state == "failed":
        if as_json:
            ctx.exit(1)
        said = f"all that Spark said is in {log}" if not verbose and log.is_file() else ""
        raise CliError(outcome.error, outcome.hint, said)
    done = outcome.state == "finished" or (outcome.state == "stopped" and loaded.document.continuous)
    ctx.exit(0 if done else ExitCode.INTERRUPTED)


def _span(first: str, last: str) -> BackfillSpan | None:
    """Return the span of a backfill, None without one. Raises UsageError."""
    if not first and not last:
        return None
    if not (first and last):
        raise UsageError("--from and --to go together", "a backfill has a beginning and an end")
    from ...pipeline.declared.backfill import BackfillSpan

    try:
        return BackfillSpan.of(first, last)
    except ValueError as error:
        raise UsageError(f"--from, --to: {error}") from None


def _spanned(loaded: LoadedDocument, span: BackfillSpan | None) -> LoadedDocument:
    """Return the document for a backfill. Raises DocumentError for what one cannot do."""
    from ...documents.problem import DocumentError
    from ...pipeline.declared import backfill

    if span is None:
        return loaded
    problems = list(backfill.problems(loaded))
    if problems:
        raise DocumentError(str(loaded.file), problems)
    return backfill.bounded(loaded, span)


def _placed(loaded: LoadedDocument, master: str, remote: str) -> LoadedDocument:
    """Return the document with the session that flags name. Raises CliError."""
    import dataclasses

    from ...pipeline.declared import engine

    if master and remote:
        raise UsageError("--master and --remote exclude each other", "give one of them")
    if remote and not remote.startswith("sc://"):
        raise UsageError(f'--remote "{remote}" is no URL of Spark Connect', "such as sc://HOST:15002")
    document = loaded.document
    if master or remote:
        spark = document.spark.model_copy(update={"master": master or None, "remote": remote or None})
        document = document.model_copy(update={"spark": spark})
    if not engine.on_this_machine(document) and not document.checkpoint and document.trigger != "batch":
        raise UsageError(
            f"{loaded.file}: checkpoint is missing: on {engine.place(document)} it has to be a folder that "
            "all machines reach",
            "such as checkpoint: s3a://BUCKET/checkpoints/NAME",
        )
    return dataclasses.replace(loaded, document=document)


def _recorded(
    loaded: LoadedDocument,
    span: BackfillSpan | None,
    metrics: tuple[str, int] | None,
    *,
    as_json: bool,
    verbose: bool,
) -> tuple[Outcome, Path]:
    """Run the document, show the run and record it, with metrics at that host and port."""
    from ...pipeline.declared import backfill, lag, record
    from ...pipeline.declared.exposition import RunMetrics

    document = loaded.document
    name, checkpoint = document.name, record.checkpoint(loaded)
    if span is not None:
        name, checkpoint = backfill.run_name(document), backfill.checkpoint(document, span, checkpoint)
    facts = _facts(loaded, checkpoint)
    if span is not None:
        facts["runs"] = f"what was stored from {span.first} to {span.last}, then ends"
    try:
        with record.record(name, facts, loaded.text) as recorder, contextlib.ExitStack() as stack:
            figures = RunMetrics(
                document.name,
                recorder.id,
                list(document.sinks),
                __version__,
                lambda: lag.report(loaded, checkpoint),
            )
            started = {**facts, "id": recorder.id, "log": str(recorder.log)}
            if metrics is not None:
                started["metrics"] = stack.enter_context(_served(figures, *metrics, recorder))
            display = _display(document, stack, as_json=as_json, verbose=verbose)
            display.started(started)
            noted = _Noted(recorder, display, figures)
            return _played(loaded, checkpoint, recorder, display, noted, verbose=verbose), recorder.log
    except record.BusyError as error:
        raise CliError(str(error), f"'pyjs pipeline status {name}' shows it") from None


@contextlib.contextmanager
def _served(figures: RunMetrics, host: str, port: int, recorder: Recorder) -> Iterator[str]:
    """Serve the metrics while the block lasts, and provide their URL; if that fails, the run has failed."""
    from ...pipeline.declared.run import Outcome

    with contextlib.ExitStack() as stack:
        try:
            bound = stack.enter_context(metrics_endpoint.serving(figures.text, host, port))
        except CliError as error:
            recorder.end(Outcome("failed", error.message).to_json(time.time()))
            raise
        yield f"http://{f'[{host}]' if ':' in host else host}:{bound}/metrics"


def _facts(loaded: LoadedDocument, checkpoint: str) -> dict[str, Any]:
    """Return what is known of a run before it starts."""
    from dataclasses import asdict

    from ...pipeline.declared import engine, plan, progress, rules

    document = loaded.document
    return {
        "pipeline": document.name,
        "file": str(loaded.file.resolve()),
        "started": progress.moment(time.time()),
        "host": socket.gethostname(),
        "trigger": document.trigger,
        "runs": plan.trigger(document),
        "on": engine.place(document),
        "checkpoint": "" if document.trigger == "batch" else checkpoint,
        "version": __version__,
        "rules": rules.meaning({**document.sources, **document.transforms}),
        "steps": [asdict(step) for step in plan.steps(document, loaded.folder)],
    }


def _display(document: PipelineDocument, stack: contextlib.ExitStack, *, as_json: bool, verbose: bool) -> Any:
    """Return what shows the run: JSON, lines, or on a terminal a panel."""
    if as_json:
        return JsonLines()
    if verbose or not sys.stdout.isatty() or os.environ.get("TERM") == "dumb":
        return TextLines()
    from .live import LiveDisplay

    return stack.enter_context(LiveDisplay(list(document.sinks)))


def _played(
    loaded: LoadedDocument,
    checkpoint: str,
    recorder: Recorder,
    display: Any,
    observer: _Noted,
    *,
    verbose: bool,
) -> Outcome:
    """Run it within a Spark session, and record how it ended."""
    from ...pipeline import java, session
    from ...pipeline.declared import engine
    from ...pipeline.declared.run import Halt, Outcome, play

    totals, began = observer.totals, time.monotonic()
    halt = Halt()

    def end(outcome: Outcome) -> Outcome:
        if outcome.detail:
            recorder.note(outcome.detail)
        recorder.end({**outcome.to_json(time.time()), "seconds": round(time.monotonic() - began, 3)})
        display.ended(recorder.id, outcome, totals, time.monotonic() - began)
        return outcome

    def leave() -> None:
        """End the process now; Spark's Java ends when its parent is gone."""
        if not recorder.ended:
            end(Outcome("interrupted"))
        display.close()
        sys.stdout.flush()
        os._exit(ExitCode.INTERRUPTED)

    ended: Outcome | None = None
    try:
        with (
            contextlib.nullcontext() if verbose else _warnings(recorder),
            engine.opened(loaded, None if verbose else recorder.log, observer.stage) as spark,
            _stoppable(halt, display, leave),
        ):
            ended = play(spark, loaded, checkpoint, observer, halt)
            return end(ended)
    except (session.SparkError, java.JavaError) as error:
        return end(Outcome("failed", str(error), getattr(error, "hint", "")))
    except KeyboardInterrupt:
        return ended or end(Outcome("interrupted"))
    except Exception as error:
        recorder.note(traceback.format_exc())
        if ended is None:
            end(Outcome("failed", f"{type(error).__name__}: {error}"))
        raise


@contextlib.contextmanager
def _warnings(recorder: Recorder) -> Iterator[None]:
    """Send Python's warnings, mostly PySpark's, to the log while the block runs."""

    def noted(
        message: Warning | str, category: type[Warning], filename: str, lineno: int, *_: object
    ) -> None:
        recorder.note(warnings.formatwarning(message, category, filename, lineno))

    with warnings.catch_warnings():
        warnings.showwarning = noted  # type: ignore[assignment]
        yield


class _Noted:
    """Records and counts each batch before it is shown."""

    def __init__(self, recorder: Recorder, display: Observer, figures: RunMetrics) -> None:
        from ...pipeline.declared.progress import Totals

        self.totals = Totals()
        self._recorder, self._display, self._figures = recorder, display, figures
        self.stage = display.stage
        self.tick = display.tick
        self.rows = display.rows

    def batch(self, batch: Batch) -> None:
        """Record and count a batch that was completed, then show it."""
        self.totals.add(batch)
        self._figures.batch(batch)
        self._recorder.batch(batch)
        self._display.batch(batch)


@contextlib.contextmanager
def _stoppable(halt: Halt, display: Display, leave: Callable[[], None]) -> Iterator[None]:
    """Have SIGINT and SIGTERM ask `halt`; the second one also makes the process end soon."""

    def asked(_number: int, _frame: FrameType | None) -> None:
        halt.ask()
        if halt.level <= 2:
            display.stopping(now=halt.now)
        if halt.level == 2:
            last = threading.Timer(LAST_SECONDS, leave)
            last.daemon = True
            last.start()

    before = {number: signal.signal(number, asked) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
