"""Running a document on a Spark session: all of its sinks, until they are done, fail, or must stop."""

from __future__ import annotations

import contextlib
import functools
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from . import checkpoint_log, metrics, sinks, tables
from .document import AVAILABLE_NOW, BATCH
from .progress import Batch, moment
from .queries import RunningQuery
from .reading import LoadedDocument
from .record import FAILED, FINISHED, INTERRUPTED, STOPPED
from .tables import Built, RunError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PLANNING = "planning: looking at the streams"
FIRST = "in the first batch"
TICK = 0.1  # seconds between two checks of the queries


class Observer(Protocol):
    """The receiver of what happens in a run. All calls come from one thread at a time."""

    def stage(self, text: str) -> None:
        """Handle that a run has come to another stage on its way to the first batch."""

    def batch(self, batch: Batch) -> None:
        """Handle a batch that was completed."""

    def tick(self, doing: Mapping[str, str]) -> None:
        """Handle that there is nothing new; `doing` says what each sink does now, in Spark's words."""

    def rows(
        self, sink: str, batch: int, columns: Sequence[str], rows: Sequence[Sequence[Any]], total: int | None
    ) -> None:
        """Show rows of a batch on the console, the first ones of `total` (None: of more)."""


class Halt:
    """A request to stop: after the batch under way, or `now`. Safe to set from a signal handler."""

    def __init__(self) -> None:
        self.level = 0

    def ask(self) -> None:
        """Ask to stop after the batch under way; a second call asks to stop now."""
        self.level += 1

    @property
    def asked(self) -> bool:
        """Whether to stop after the batch under way."""
        return self.level > 0

    @property
    def now(self) -> bool:
        """Whether to stop in the middle of it."""
        return self.level > 1


@dataclass(frozen=True)
class Outcome:
    """How a run ended: `finished`, `stopped` (after a batch, as asked), `interrupted` (in one), `failed`."""

    state: str
    error: str = ""
    hint: str = ""
    detail: str = ""  # the whole text of an error, for the log

    def to_json(self, when: float) -> dict[str, Any]:
        """Return the outcome as it is recorded."""
        return {"state": self.state, "time": moment(when), "error": self.error, "hint": self.hint}


def play(
    spark: SparkSession, loaded: LoadedDocument, checkpoint: str, observer: Observer, halt: Halt
) -> Outcome:
    """Run the document to its end. Errors of tables, sinks and Spark become a failed outcome."""
    try:
        observer.stage(PLANNING)
        made = tables.build(spark, loaded, checkpoint)
        if halt.asked:  # before anything was begun
            return Outcome(INTERRUPTED if halt.now else STOPPED)
        observer.stage(FIRST)
        if loaded.document.trigger == BATCH:
            return _batch(spark, loaded, made, observer, halt)
        return _stream(loaded, made, checkpoint, observer, halt)
    except RunError as error:
        return Outcome(INTERRUPTED) if halt.now else _failed(error)
    except OSError as error:  # of the connection to Spark's Java; one of ours would be a RunError
        if halt.asked:
            return Outcome(INTERRUPTED)
        return Outcome(
            FAILED, f"Spark's Java ended unexpectedly: {error}", "was it killed, for its memory perhaps?"
        )


def _stream(loaded: LoadedDocument, made: Built, checkpoint: str, observer: Observer, halt: Halt) -> Outcome:
    queries: list[RunningQuery] = []
    try:
        for name, sink in loaded.document.sinks.items():
            start = functools.partial(
                sinks.start, made.of(sink.origin), name, loaded, f"{checkpoint}/{name}", observer.rows
            )
            try:
                queries.append(RunningQuery(name, start, unfinished=_single(loaded, f"{checkpoint}/{name}")))
            except Exception as error:
                raise tables.failed(loaded, ("sinks", name), error) from error
        return _watch(loaded, queries, observer, halt)
    finally:
        for query in queries:
            if query.alive:
                query.stop()


def _single(loaded: LoadedDocument, checkpoint: str) -> bool:
    """Return whether all that a query will do, unless it is started again, is to finish a batch."""
    from ..source.limits import LIMITED

    if LIMITED or loaded.document.trigger != AVAILABLE_NOW:
        return False
    with contextlib.suppress(OSError, ValueError):
        return checkpoint_log.position(checkpoint).unfinished
    return False


def _watch(loaded: LoadedDocument, queries: list[RunningQuery], observer: Observer, halt: Halt) -> Outcome:
    """Follow the queries until none is alive. If one fails, the others finish their batches."""
    failure: RunError | None = None
    while True:
        alive = [query for query in queries if query.alive]  # asked first, so that the last batches count
        for query in queries:
            for batch in query.batches():
                observer.batch(batch)
            ended = not query.alive
            error = query.exception() if ended else None
            wanted = ended and failure is None and not halt.asked
            if wanted and (query.go_on() if error is None else query.again(error)):
                alive.append(query)
            elif error is not None and failure is None:
                failure = tables.failed(loaded, ("sinks", query.sink), error)
                failure.__cause__ = error
        if halt.now:
            return Outcome(INTERRUPTED)
        if not alive:
            break
        if halt.asked or failure is not None:
            for query in alive:
                query.finish()
        observer.tick({query.sink: query.doing() for query in alive})
        time.sleep(TICK)
    if failure is not None:
        return _failed(failure)
    return Outcome(STOPPED if halt.asked else FINISHED)


def _failed(error: RunError) -> Outcome:
    detail = "".join(traceback.format_exception(error.__cause__ or error))
    return Outcome(FAILED, str(error), error.hint, detail)


def _batch(
    spark: SparkSession, loaded: LoadedDocument, made: Built, observer: Observer, halt: Halt
) -> Outcome:
    """Write one sink after the other, each in a thread, so that signals and displays are attended to."""
    for name in loaded.document.sinks:
        if halt.asked:
            return Outcome(STOPPED)
        work = _Work(spark, made, name, loaded, observer)
        work.start()
        while work.is_alive():
            if halt.now:
                return Outcome(INTERRUPTED)
            observer.tick({name: metrics.doing(spark)})
            work.join(TICK)
        if work.error is not None:
            raise tables.failed(loaded, ("sinks", name), work.error) from work.error
        assert work.batch is not None
        observer.batch(work.batch)
    return Outcome(FINISHED)


class _Work(threading.Thread):
    """Writes one sink, and keeps the batch or the error."""

    def __init__(
        self, spark: SparkSession, made: Built, name: str, loaded: LoadedDocument, observer: Observer
    ) -> None:
        super().__init__(name=f"pyjs pipeline {name}", daemon=True)
        self.batch: Batch | None = None
        self.error: Exception | None = None
        self._spark, self._made, self._name = spark, made, name
        self._loaded, self._observer = loaded, observer

    def run(self) -> None:
        """Write the sink, in this thread."""
        began = time.monotonic()
        metrics.activate(self._spark)
        reads = metrics.Reads(self._spark)
        try:
            frame = self._made.of(self._loaded.document.sinks[self._name].origin)
            written = sinks.write(frame, self._name, self._loaded, self._observer.rows)
        except Exception as error:
            self.error = error
            return
        self.batch = Batch(
            sink=self._name,
            batch=0,
            time=moment(time.time()),
            rows_in=reads.rows(),
            rows_out=written,
            lag=None,
            seconds=round(time.monotonic() - began, 3),
            rules=self._made.broken(frame),
        )
