"""The identity of a task, which piece of which write it is, and the message ids that follow from it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from pyspark import TaskContext

from ...protocol.subject import is_literal
from .errors import SinkError

QUERY = "sql.streaming.queryId"
BATCH = "streaming.sql.batchId"


@dataclass(frozen=True)
class WriteTask:
    """One attempt at one partition.

    write: the same whenever the same rows are written again
    name: of the query, the same for all of its batches; of a batch write as `write`
    batch: the number of the query's batch
    """

    write: str
    partition: int
    attempt: int
    name: str = ""
    batch: int = 0

    def row(self, number: int) -> str:
        """Return a row's name in errors; rows of a partition are counted from 0."""
        return f"row {number} of partition {self.partition}"

    @property
    def prefix(self) -> str:
        """The prefix of the message ids of this partition, the same for every attempt."""
        return f"{self.write}:{self.partition}:"

    def mark(self, prefix: str) -> str:
        """Return the subject of the marks of this partition, the same for all batches of a query."""
        name = self.name or self.write
        if not is_literal(name) or "." in name:
            name = hashlib.sha256(name.encode()).hexdigest()[:32]
        return f"{prefix}.{name}.{self.partition}"


def of_batch(write: str) -> WriteTask:
    """Return the task that runs here, of the batch write with this id."""
    context = TaskContext.get()
    if context is None:
        return WriteTask(write, 0, 0)
    return WriteTask(write, context.partitionId(), context.attemptNumber())


def of_stream() -> WriteTask:
    """Return the task that runs here, of a streaming query, whose id and batch come from the checkpoint.

    Raises SinkError if Spark does not provide them.
    """
    context = TaskContext.get()
    query = context.getLocalProperty(QUERY) if context else None
    batch = context.getLocalProperty(BATCH) if context else None
    if context is None or not query or batch is None:
        raise SinkError(
            "Spark does not say which query and batch this task is of: no message ids can be made"
        )
    place = context.partitionId(), context.attemptNumber()
    return WriteTask(f"{query}:{batch}", *place, name=query, batch=int(batch))
