"""Spark's figures while a batch runs: how many rows were read, and how many tasks are done.

Spark offers neither to Python, so its status store in the JVM is asked. A remote session has no JVM here, and
Spark promises none of this: whenever something fails, the figure is not known. Streaming queries need none of
it: their reports, and `observe`, are public. `make sparks` runs the tests of both with older Sparks.
"""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCAN = re.compile(r"^BatchScan jetstream\b")
ROWS = "number of output rows"


class Reads:
    """The rows that scans of the data source have returned since this object was made."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._before = self._last()

    def rows(self) -> int | None:
        """Return how many; None if that is not known."""
        try:
            return self._rows()
        except Exception:
            return None

    def _rows(self) -> int | None:
        store = self._store()
        found = None
        for execution in _items(store.executionsList()):
            number = execution.executionId()
            if number <= self._before:
                continue
            values = store.executionMetrics(number)
            for node in _items(store.planGraph(number).allNodes()):
                if not SCAN.match(node.name()):
                    continue
                for metric in _items(node.metrics()):
                    value = values.get(metric.accumulatorId())
                    if metric.name() == ROWS and value.isDefined():
                        found = (found or 0) + int(re.sub(r"\D", "", value.get().split("\n")[0]) or 0)
        return found

    def _last(self) -> int:
        try:
            return max((each.executionId() for each in _items(self._store().executionsList())), default=-1)
        except Exception:
            return -1

    def _store(self) -> Any:
        return self._spark._jsparkSession.sharedState().statusStore()


def activate(spark: SparkSession) -> None:
    """Make this thread's work that of the session: Spark finds data sources through the thread."""
    with contextlib.suppress(Exception):  # a remote session does not need it
        jvm: Any = spark._jvm
        jvm.SparkSession.setActiveSession(spark._jsparkSession)


def doing(spark: SparkSession) -> str:
    """Return the progress of the tasks that run now, `12 of 40 tasks`; empty if that is not known."""
    try:
        tracker = spark.sparkContext.statusTracker()
        infos = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    except Exception:
        return ""
    tasks = sum(info.numTasks for info in infos if info)
    done = sum(info.numCompletedTasks for info in infos if info)
    return f"{done} of {tasks} tasks" if tasks else ""


def _items(sequence: Any) -> list[Any]:
    """Return the items of a Scala sequence."""
    iterator, found = sequence.iterator(), []
    while iterator.hasNext():
        found.append(iterator.next())
    return found
