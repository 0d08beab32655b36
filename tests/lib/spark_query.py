"""The data source as Spark uses it, without Spark: tasks read here, a query stepped batch by batch."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterable
from typing import Any

from pyjs.pipeline.options import QuerySettings
from pyjs.pipeline.source import columns
from pyjs.pipeline.source.backoff import Backoff
from pyjs.pipeline.source.batch import BatchReader
from pyjs.pipeline.source.limits import ReadLimit
from pyjs.pipeline.source.stream import StreamReader

from .process import ServerProcess

Row = dict[str, Any]
# A server that is gone is given up soon.
QUICK = {"fetchRetries": "0", "timeout": "5s"}


def settings(use: str, server: ServerProcess, **options: str) -> QuerySettings:
    """Return the settings of a query on this server."""
    return QuerySettings.of({"servers": server.url, **QUICK, **options}, use)


def read(reader: BatchReader | StreamReader, tasks: Iterable[Any]) -> list[Row]:
    """Return the rows of tasks, in the order of the tasks; each is sent through pickle, as Spark does."""
    again = pickle.loads(pickle.dumps(reader.reading))
    found = []
    for task in tasks:
        for batch in again.batches(pickle.loads(pickle.dumps(task))):
            found += batch.to_pylist()
    return found


def batch(server: ServerProcess, **options: str) -> list[Row]:
    """Return the rows of a batch read."""
    made = settings("read", server, **options)
    reader = BatchReader(made, columns.schema(made))
    return read(reader, reader.partitions())


def sequences(rows: Iterable[Row]) -> list[int]:
    """Return their sequences."""
    return [row["sequence"] for row in rows]


class Query:
    """A stream query and its checkpoint: `step` is one trigger, `restart` continues from the checkpoint."""

    def __init__(self, server: ServerProcess, **options: str) -> None:
        self.settings = settings("stream", server, **options)
        self.start: dict[str, Any] | None = None
        self.slept: list[float] = []
        self.time = 0.0
        self.reader = self._reader()

    def restart(self) -> None:
        """Start another process of the query, from the same checkpoint."""
        self.reader.stop()
        self.reader = self._reader()

    def _reader(self) -> StreamReader:
        return StreamReader(
            self.settings,
            columns.schema(self.settings),
            now=lambda: self.time,
            backoff=Backoff(self.slept.append),
        )

    def plan(self, limit: ReadLimit | None = None) -> dict[str, Any] | None:
        """Return the end of the next batch, None if there is nothing for one."""
        if self.start is None:
            self.start = plain(self.reader.initialOffset())
        end = plain(self.reader.latestOffset(self.start, limit or self.reader.getDefaultReadLimit()))
        return None if json.dumps(end) == json.dumps(self.start) else end

    def run(self, end: dict[str, Any]) -> list[Row]:
        """Return the rows of the batch up to `end`, which is not done yet."""
        return read(self.reader, self.reader.partitions(plain(self.start), plain(end)))

    def done(self, end: dict[str, Any]) -> None:
        """Put the batch into the checkpoint."""
        self.start = end
        self.reader.commit(plain(end))

    def step(self, limit: ReadLimit | None = None) -> list[Row] | None:
        """Run one trigger and return the rows of its batch, None if there is no batch."""
        end = self.plan(limit)
        if end is None:
            return None
        rows = self.run(end)
        self.done(end)
        return rows

    def drain(self) -> list[list[Row]]:
        """Return the batches until there is nothing more."""
        found = []
        while (rows := self.step()) is not None:
            found.append(rows)
        return found


def plain(offset: Any) -> Any:
    """Return an offset as it comes back from a checkpoint."""
    return json.loads(json.dumps(offset))
