"""The streaming queries of a run: what they did, and how they are stopped."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from . import failure, rules
from .progress import Batch, observed, of_query
from .sinks import OBSERVED

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery


RESTARTS = 3
MOST_CALLS = 100  # calls of `finish` after which it no longer waits for a good moment
LATE_WORKER = "Python worker failed to connect back"


class RunningQuery:
    """One sink's query. `finish` lets the batch under way be completed; `stop` does not wait for it."""

    def __init__(
        self, sink: str, start: Callable[[dict[int, int]], StreamingQuery], *, unfinished: bool = False
    ) -> None:
        """Start it. `start` gets the dict for counts of rows that Spark does not report.

        unfinished: its first batch is one that an earlier run left, and its only one, unless it goes on
        """
        self.sink = sink
        self._behind = unfinished
        self._start = start
        self._counts: dict[int, int] = {}
        self._query = start(self._counts)
        self._restarts = 0
        self._asked = 0
        self._last: int | None = None  # the newest batch when a remote query was asked to finish
        self._seen = -1
        self._looked: tuple[int, str] | None = None
        self._thread: Any = None  # Spark's thread of the query, once it has been asked to finish

    @property
    def alive(self) -> bool:
        """Whether it is at work: still running, or asked to finish and not done yet."""
        return bool(self._thread.isAlive()) if self._thread is not None else self._query.isActive

    def exception(self) -> BaseException | None:
        """Return the error that ended it, None if there was none."""
        return self._query.exception()

    def again(self, error: BaseException) -> bool:
        """Start it again if it ended only because Python did not start in time; at most RESTARTS times.

        Returns whether it did. Spark gives its streaming workers ten seconds to start, which is not enough
        when all processors are busy. The checkpoint makes the query continue where it was.
        """
        if self._restarts >= RESTARTS or LATE_WORKER not in failure.whole(error):
            return False
        self._restarts += 1
        self._query = self._start(self._counts)
        return True

    def go_on(self) -> bool:
        """Start it again if it has only completed a batch that was left unfinished; return whether it did.

        Where Spark cannot tell a Python source where to end (4.1), `availableNow` is a single batch. After a
        run that was killed that batch is the unfinished one, and what has come since would be left.
        """
        if not self._behind or self._asked or self._last is not None:
            return False
        self._behind = False
        self._query = self._start(self._counts)
        return True

    def doing(self) -> str:
        """Return what it does now, in Spark's words."""
        return str(self._query.status.get("message", ""))

    def batches(self) -> Iterator[Batch]:
        """Yield the batches that were completed since the last call, in order."""
        last = self._query.lastProgress
        if last is None or (last["batchId"], last["timestamp"]) == self._looked:
            return
        self._looked = (last["batchId"], last["timestamp"])
        reports = [last] if last["batchId"] == self._seen + 1 else self._query.recentProgress
        for report in reports:
            number = int(report["batchId"])
            if number <= self._seen or not _complete(report):
                continue
            self._seen = number
            rows = self._counts.get(number, observed(report, OBSERVED))
            yield of_query(self.sink, report, rows, rules.counted(report))

    def finish(self) -> None:
        """Make the batch under way, if any, the last one. PySpark has no call for it."""
        if not hasattr(self._query, "_jsq"):  # a remote one: its internals are in another process
            self._last = self._seen if self._last is None else self._last
            if self._seen > self._last or not self._query.status["isTriggerActive"]:
                self._query.stop()
        elif self._thread is None:
            self._asked += 1
            try:
                if self._settled() or self._asked > MOST_CALLS:
                    self._finish()
            except Exception:  # a Spark with other internals: the best that can be done
                self._query.stop()
        elif self.alive and not self._query.status["isTriggerActive"]:
            self._query.stop()  # asleep until the next trigger

    def _settled(self) -> bool:
        """Return whether no batch is being planned.

        One that is would be abandoned after its first task began.
        """
        from pyspark import SparkContext

        if not self._query.status["isTriggerActive"]:
            return True
        tracker = SparkContext.getOrCreate().statusTracker()
        own = tracker.getJobIdsForGroup(str(self._query.runId))
        return not set(own).isdisjoint(tracker.getActiveJobsIds())

    def _finish(self) -> None:
        """Tell the query's Java object that it has ended: Spark's own call breaks the batch off.

        Spark promises none of this; the caller stops the query where it fails.
        """
        from pyspark import SparkContext

        # A query begins another batch only while its state is ACTIVE; one that has begun does not look.
        execution = self._query._jsq.streamingQuery()
        state = execution.state()
        jvm: Any = SparkContext._jvm
        name = state.get().getClass().getName().replace("ACTIVE", "TERMINATED")
        ended = jvm.java.lang.Class.forName(name).getField("MODULE$").get(None)
        thread = execution.queryExecutionThread()
        state.set(ended)
        self._thread = thread

    def stop(self) -> None:
        """Stop now, in the middle of a batch: the checkpoint stays valid, and the next run repeats it."""
        with contextlib.suppress(Exception):
            self._query.stop()


def _complete(report: Mapping[str, Any]) -> bool:
    """Return whether this reports a batch that was run; idle queries report now and then, too."""
    return "addBatch" in (report.get("durationMs") or {})
