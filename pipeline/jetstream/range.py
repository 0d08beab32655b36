"""A range of a stream's sequences, read as Arrow record batches.

Promises: every message of the range that still exists is returned once and in order, up to the end of the
range or an error. A batch bounds the memory in use, in rows and bytes. Completeness is known as follows:
 1. each way of reading returns ranges, and guarantees that no message between two of a range is missing;
 2. if the messages end before the range does, the end is compared with what the stream's leader has;
 3. if sequences are missing, the stream's first sequence tells whether its limits, or a purge, removed
    them while they were being read.
"""

from __future__ import annotations

import builtins
import logging
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

import pyarrow as pa

from ...client import (
    BlockingConnection,
    ClientError,
    ConnectionLost,
    NoResponders,
    NoServers,
    NotPermitted,
    TimedOut,
)
from ...protocol.errors import ApiError
from . import columns as layout
from .api import JetStreamRequests
from .columns import MessageRange
from .consumer import ConsumerReader
from .direct import DirectReader
from .errors import Behind, DataLoss, Interrupted, ShortRead
from .leader import LeaderReader
from .retries import UNAVAILABLE, Retries, may_pass
from .stream_status import StreamStatus

LOG = logging.getLogger("pyjs.pipeline")


@dataclass(frozen=True)
class StreamRange:
    """Sequences [start, end) of a stream; with `subjects`, only the messages on these.

    created: the creation time of the stream that is meant; set it if another stream of that name must not be
        read
    late_bound: whether the range starts at whatever the stream begins with when it is read; what left the
        front before that is no loss
    stored_after: a time that its messages were stored after, in ns since the epoch; 0 if not known
    last_per_subject: whether only the last message of each subject is meant, as it is when it is read
    """

    stream: str
    start: int
    end: int
    subjects: tuple[str, ...] = ()
    created: str = ""
    late_bound: bool = False
    stored_after: int = 0
    last_per_subject: bool = False


def read(
    connection: BlockingConnection,
    api: JetStreamRequests,
    range: StreamRange,  # noqa: A002 - the word for it
    *,
    batch: int = 10_000,
    headers: bool = False,
    domain: str = "",
    columns: Sequence[str] | None = None,
    tolerate_loss: bool = False,
    retries: int = 3,
    retry_interval: float = 1.0,
) -> Iterator[pa.RecordBatch]:
    """Yield the messages of the range, at most `batch` rows at a time.

    columns: which columns, and in which order; by default all, with the headers only if `headers` is true
    domain: the value of the column of that name
    retries: how many times in a row an error that may pass (a lost connection, no leader) is tried again
    retry_interval: seconds between two such attempts

    Raises ShortRead, UnknownStream, ApiError, AuthorizationError, NotPermitted, and DataLoss unless
    `tolerate_loss`. What left the front of a late-bound range is one warning with a count, at the end. What
    newer messages of the same subjects have replaced, as in a key-value bucket, is neither.
    """
    names = tuple(columns) if columns is not None else layout.names(headers=headers)
    reading = _Reading(connection, api, range, batch, layout.texts(names), tolerate_loss=tolerate_loss)
    try:
        yield from _retrying(reading, names, domain, Retries(retries, retry_interval))
    finally:
        reading.report_rolled_off()


def _retrying(
    reading: _Reading, names: Sequence[str], domain: str, retries: Retries
) -> Iterator[pa.RecordBatch]:
    while not reading.done:
        try:
            for message_range in reading.ranges():
                retries.succeeded()
                if len(message_range.rows):
                    yield from reading.cut(message_range.rows.batch(names, reading.stream, domain))
        except Exception as error:
            if not may_pass(error):
                raise
            if retries.again():
                reading.reconnect(error)
            else:
                reading.give_up(error)


class _Reading:
    """The state of reading a range: everything before `position` was returned, or is known to be gone."""

    def __init__(
        self,
        connection: BlockingConnection,
        api: JetStreamRequests,
        wanted: StreamRange,
        batch: int,
        texts: tuple[str, ...],
        *,
        tolerate_loss: bool,
    ) -> None:
        self._texts = texts  # that the wanted columns are made of
        self._connection, self._api = connection, api
        self._range = wanted
        self._batch = batch
        self._tolerate = tolerate_loss
        self._created = wanted.created
        self._silence = False  # the last attempt ended because nothing arrived
        self._rolled_off = 0  # sequences that left the front of a late-bound range before they were read
        self.stream = wanted.stream
        self.position = wanted.start

    @property
    def done(self) -> bool:
        """Whether the whole range was returned or is gone."""
        return self.position >= self._range.end

    def cut(self, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Yield the rows, at most `batch` at a time."""
        for start in builtins.range(0, rows.num_rows, self._batch):
            yield rows.slice(start, self._batch)

    def ranges(self) -> Iterator[MessageRange]:
        """Read on until the range is complete or nothing more arrives.

        Raises DataLoss, and errors that may pass.
        """
        stream = self._facts()
        self._pass_front(stream)
        if self.position >= self._range.end:
            return
        for message_range in self._from_any_way(stream):
            self._check_gaps(message_range)
            self.position = message_range.until
            yield message_range
        if self.position < self._range.end:
            self._check_end()

    def _from_any_way(self, stream: StreamStatus) -> Iterator[MessageRange]:
        # Where consumers decide what a stream keeps, a consumer that only reads would cause messages to be
        # removed.
        if stream.retention != "limits":
            yield from self._without_consumer(stream)
            return
        if self._silence:
            # A consumer through another account may stay silent forever at a message that its replies cannot
            # carry.
            self._silence = False
            yield from self._lap(stream)
        if self.position >= self._range.end:
            return
        consumer = ConsumerReader(*self._rest(), self._batch, wanted=self._texts)
        try:
            consumer.create()
        except (ApiError, NotPermitted) as error:
            if not stream.allow_direct or getattr(error, "code", 0) == UNAVAILABLE:
                raise
            yield from self._without_consumer(stream)
        else:
            with consumer:
                yield from consumer.ranges()

    def _without_consumer(self, stream: StreamStatus) -> Iterator[MessageRange]:
        position = -1
        while position < self.position < self._range.end:
            position = self.position
            yield from self._lap(stream)

    def _lap(self, stream: StreamStatus) -> Iterator[MessageRange]:
        """Yield what a replica has, and then some messages that only the leader has."""
        if stream.allow_direct:
            yield from DirectReader(*self._rest(), self._batch).ranges()
        if self.position < self._range.end:
            yield from LeaderReader(*self._rest()).ranges()

    def _rest(self) -> tuple[JetStreamRequests, str, int, int, tuple[str, ...]]:
        wanted = self._range
        return self._api, wanted.stream, self.position, wanted.end, wanted.subjects

    # -- what is missing

    def _facts(self) -> StreamStatus:
        """Return the stream as its leader sees it; DataLoss if it is not the one that reading began with."""
        stream = self._api.stream(self._range.stream)
        if self._created and stream.created != self._created:
            self._lose(self.position, self._range.end, "the stream was deleted and created again")
        self._created = stream.created
        return stream

    def _pass_front(self, stream: StreamStatus) -> None:
        """Move the position to the stream's first message if that is later."""
        if stream.first > self.position:
            until = min(stream.first, self._range.end)
            self._lose_front(stream, self.position, until, until - self.position)
            self.position = until

    def _check_gaps(self, message_range: MessageRange) -> None:
        """Check whether what a range lacks was removed from the front; deleted inner messages are no loss."""
        missing = message_range.rows.missing(self.position, message_range.until)
        if missing < message_range.until:
            stream = self._facts()
            until = min(stream.first, message_range.until)
            if missing < until:
                absent = message_range.rows.absent(self.position, until)
                self._lose_front(stream, missing, until, absent)
            for lost in stream.lost:
                if self.position <= lost < message_range.until:
                    self._lose(lost, lost + 1, "the server found it damaged")

    def _check_end(self) -> None:
        """Check, when nothing more arrives, that the leader has nothing more in the range either."""
        stream = self._facts()
        self._pass_front(stream)
        end = self._range.end
        if self.position >= end:
            return
        if stream.last < end - 1:
            raise Behind(f"the stream ends at {stream.last}", stream.last)
        left = LeaderReader(*self._rest()).next_sequence()
        if left < end:
            raise Interrupted(f"message {left} exists and did not come")
        for lost in stream.lost:
            if self.position <= lost < end:
                self._lose(lost, lost + 1, "the server found it damaged")
        self.position = end

    def _lose(self, first: int, end: int, reason: str = "") -> None:
        if not self._tolerate:
            raise DataLoss(self._range.stream, first, end - 1, reason)

    def _lose_front(self, stream: StreamStatus, first: int, end: int, absent: int) -> None:
        """Note that the stream now begins behind sequences that were not read, `absent` in number."""
        if stream.only_compacted(self._range.stored_after):
            return
        if self._range.late_bound:
            self._rolled_off += absent
        else:
            self._lose(first, end)

    def report_rolled_off(self) -> None:
        """Warn of what left the front of a late-bound range."""
        if self._rolled_off:
            LOG.warning(
                "stream %s: %d sequences of %d to %d left the stream before they were read; this read starts "
                "at earliest, so it takes what is left",
                self.stream,
                self._rolled_off,
                self._range.start,
                self._range.end - 1,
            )
            self._rolled_off = 0

    # -- what may pass

    def reconnect(self, reason: Exception) -> None:
        """Reconnect if the connection is in doubt; if that fails, the next attempt will report it."""
        self._silence = isinstance(reason, TimedOut)
        if isinstance(reason, ClientError) and not isinstance(reason, NoResponders):
            with suppress(ConnectionLost, NoServers):
                self._connection.reopen()

    def give_up(self, reason: Exception) -> None:
        """Raise the error for the caller after the last attempt; return if it is a loss that is tolerated."""
        end = self._range.end
        if not isinstance(reason, Behind):
            raise ShortRead(self._range.stream, self.position, end - 1, str(reason)) from reason
        self._lose(max(self.position, reason.last + 1), end, f"{reason}: it was restored, or lost its end")
        self.position = end
