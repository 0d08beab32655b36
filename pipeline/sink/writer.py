"""The writers that Spark calls: checks on the driver, tasks on the executors, a count back on the driver.

A task's rows are published as they arrive, and the task succeeds when each of them is acknowledged. Nothing
is undone when a task or job fails: stored rows stay, and are sent again when Spark tries again. `guarantee`
says whether the stream then has them twice (at-least-once) or once (effectively-once).
"""

from __future__ import annotations

import itertools
import logging
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from ...client import BlockingConnection, ConnectionLost, NoServers, TimedOut
from ..jetstream import JetStreamRequests
from ..options import QuerySettings
from . import columns, target, task
from .atomic import ROOM, AtomicPublisher
from .errors import SinkError
from .first_try import recorded
from .frame import Encoder
from .publisher import FramePublisher
from .target import TargetStream
from .task import WriteTask
from .write_options import WriteOptions

LOG = logging.getLogger(__name__)
# Seconds after which a batch that was planned is one that an earlier run may have begun to write.
RESTARTED = 10.0


@dataclass(frozen=True)
class TaskCommit(WriterCommitMessage):
    """The rows that one task has had acknowledged; the stream had `duplicates` of them already."""

    partition: int
    rows: int
    duplicates: int


@dataclass(frozen=True)
class WritePlan:
    """One write as all of its tasks see it: made and checked on the driver, pickled to the executors.

    target: None if no server could be asked on the driver; then each task asks
    """

    options: WriteOptions
    columns: frozenset[str]
    begun: float  # when the rows were first to be written: seconds since the epoch, by the driver's clock
    target: TargetStream | None = None
    again: bool = False  # whether an earlier run of the query may have written rows of this batch

    @classmethod
    def make(cls, options: WriteOptions, schema: StructType, *, patient: bool = False) -> WritePlan:
        """Check schema and stream; `patient` leaves a server that cannot be reached to the tasks.

        Raises SinkError, ApiError, ClientError.
        """
        plan = cls(options, columns.check(schema, options.subject), time.time())
        try:
            with BlockingConnection.open(options.address) as connection:
                return replace(plan, target=plan.find_target(connection))
        except (NoServers, ConnectionLost, TimedOut):
            if patient:
                return plan
            raise

    def find_target(self, connection: BlockingConnection) -> TargetStream:
        """Find the stream and check it."""
        return target.find(
            JetStreamRequests(connection, self.options.api_prefix),
            stream=self.options.stream,
            subject=self.options.subject,
            columns=self.columns,
            retry_window=self.options.retry_window if self.options.once else None,
            marks=self.options.marks,
        )

    def run(self, here: WriteTask, batches: Iterator[pa.RecordBatch]) -> TaskCommit:
        """Publish the rows of one task; every one is acknowledged when this returns."""
        if self.options.exactly:
            return self._run_exactly(here, batches)
        options, head = self.options, next(batches, None)
        if head is None:
            return TaskCommit(here.partition, 0, 0)
        publisher = FramePublisher(
            options.address,
            called=here.row,
            prefix=options.api_prefix,
            window=options.window,
            seconds=options.delivery_timeout,
        )
        with publisher:
            found = self.target or self.find_target(publisher.connection)
            publisher.stream = found.stream
            encoder = self._encoder(here, found, publisher.max_payload, publisher.inbox)
            for batch in itertools.chain((head,), batches):
                for frames in encoder.frames(batch, publisher.sent):
                    self._check_age(here, found)
                    publisher.publish(frames)
                publisher.finish()  # nobody reads answers while the next batch is computed
        return TaskCommit(here.partition, publisher.sent, publisher.duplicates)

    def _run_exactly(self, here: WriteTask, batches: Iterator[pa.RecordBatch]) -> TaskCommit:
        """Publish the rows of one task that no earlier attempt has stored."""
        options = self.options
        publisher = AtomicPublisher(
            options.address,
            stream=options.stream,
            subject=here.mark(options.marks),
            batch=here.batch,
            prefix=options.api_prefix,
            called=here.row,
            seconds=options.delivery_timeout,
        )
        with publisher:
            found = self.target or self.find_target(publisher.connection)
            encoder = self._encoder(here, found, publisher.connection.max_payload, "")
            for batch in batches:
                for messages in encoder.messages(batch, publisher.sent):
                    publisher.publish(messages)
            publisher.finish()
        return TaskCommit(here.partition, publisher.sent, publisher.duplicates)

    def _encoder(self, here: WriteTask, found: TargetStream, most: int, inbox: str) -> Encoder:
        largest, limit = most, "server's max_payload"
        if 0 <= found.max_message < largest:
            largest, limit = found.max_message, f"max_msg_size of stream {found.stream}"
        exactly = self.options.exactly
        return Encoder(
            task=here,
            inbox=inbox,
            largest=largest - (ROOM if exactly else 0),
            limit=f"{limit}, less what exactly-once adds," if exactly else limit,
            subject=self.options.subject,
            derive_ids=self.options.once,
            stored=found.subjects if exactly else (),
        )

    def _check_age(self, here: WriteTask, found: TargetStream) -> None:
        """Raise SinkError if the stream may have forgotten the message ids of an earlier attempt."""
        if not self.options.once or not (self.again or here.attempt > 0):
            return
        age = time.time() - self.begun
        if age > found.duplicate_window and self.options.fail_on_forgotten_ids:
            raise SinkError(
                f"guarantee effectively-once: partition {here.partition} is tried again {age:.0f} s after "
                f"the write began, and stream {found.stream} remembers message ids for "
                f"{found.duplicate_window:g} s: rows could be stored twice. Make its duplicate window and "
                "retryWindow longer than a write takes, and than a query may be down; or set "
                "failOnForgottenIds to false to write this batch all the same"
            )


class BatchWriter(DataSourceArrowWriter):
    """`df.write.format("jetstream")`: appends to the stream and never removes messages."""

    def __init__(self, settings: QuerySettings, schema: StructType, overwrite: bool = False) -> None:
        """Check everything that can be checked without rows. Raises SinkError, ApiError, ClientError."""
        if overwrite:
            raise SinkError(
                'mode("overwrite") is refused: a stream is never purged by a write; use mode("append"), '
                "and purge it yourself if that is meant"
            )
        options = WriteOptions.of(settings)
        self._plan = WritePlan.make(options, schema)
        # Made once, on the driver: a task that is tried again makes the same ids.
        self._write = options.write_id or uuid.uuid4().hex

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskCommit:
        """Publish a partition (on an executor)."""
        return self._plan.run(task.of_batch(self._write), iterator)

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Log what was written (on the driver)."""
        LOG.info("%s", outcome(messages))

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Log what remains of a write that failed (on the driver)."""
        LOG.warning("the write failed; what was published stays: %s of finished tasks", outcome(messages))


class StreamWriter(DataSourceStreamArrowWriter):
    """`df.writeStream.format("jetstream")`: appends each micro-batch."""

    def __init__(
        self, settings: QuerySettings, schema: StructType, overwrite: bool = False, *, checkpoint: str = ""
    ) -> None:
        """Check what can be checked. Spark makes one writer for each batch and one to commit it.

        checkpoint: the folder that the query was given for it

        Raises SinkError, ApiError, AuthorizationError. A server that cannot be reached now is not an error
        yet: it may be back when tasks run, and a batch that was written must not fail at its commit.
        """
        if overwrite:
            raise SinkError(
                'outputMode("complete") is refused: each batch would replace what the stream holds, and a '
                'write never purges; use outputMode("append"), or write from foreachBatch'
            )
        options = WriteOptions.of(settings)
        if options.write_id:
            raise SinkError(
                "option writeId names batch writes; a streaming query has an id in its checkpoint"
            )
        plan = WritePlan.make(options, schema, patient=True)
        first = recorded(checkpoint) if options.once and checkpoint else None
        if options.once and first is None:
            LOG.warning(
                "the checkpoint cannot be read here: a batch that is written again after the duplicate "
                "window, because the query was started again, is not noticed"
            )
        self._plan = (
            plan if first is None else replace(plan, begun=first, again=plan.begun - first > RESTARTED)
        )

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskCommit:
        """Publish a partition of a batch (on an executor)."""
        options = self._plan.options
        here = task.of_stream() if options.once or options.exactly else task.of_batch("")
        return self._plan.run(here, iterator)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Log what was written (on the driver)."""
        LOG.info("batch %d: %s", batchId, outcome(messages))

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Log what remains of a batch that failed (on the driver)."""
        LOG.warning(
            "batch %d failed; what was published stays: %s of finished tasks", batchId, outcome(messages)
        )


def outcome(messages: Sequence[WriterCommitMessage | None]) -> str:
    """Return in words what tasks have written."""
    done = [message for message in messages if isinstance(message, TaskCommit)]
    rows, duplicates = sum(message.rows for message in done), sum(message.duplicates for message in done)
    return f"{rows} rows acknowledged" + (f", {duplicates} of them stored before" if duplicates else "")
