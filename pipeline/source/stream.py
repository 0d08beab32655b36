"""Stream reads: `spark.readStream.format("jetstream")`."""

from __future__ import annotations

import functools
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from ..jetstream import DataLoss, StreamRange, StreamStatus, UnknownStream
from ..options import OptionError, QuerySettings
from . import columns, offsets, queue
from .backoff import Backoff
from .bounds import PositionResolver
from .directory import LIMITS, WORK_QUEUE, StreamDirectory, check_retention
from .limits import ReadAllAvailable, ReadLimit, ReadMaxRows, ReadMinRows, SupportsTriggerAvailableNow
from .loss import lost, resumed
from .offsets import Offset, StreamOffset, StreamOffsets
from .partitions import cut
from .read_task import ReadOptions, ReadTask

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

UNLIMITED = (
    "this Spark tells a source no limits: the first batch of a query has all there is, and a query with "
    "trigger availableNow ends after one batch, with more waiting perhaps; Spark 4.2 has limits"
)
LOG = logging.getLogger("pyjs.pipeline")


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans batches on the driver, in one process as long as the query runs; `read` runs on executors.

    The sequences of a batch follow from its offsets and nothing else: a batch that is run again reads the
    same.
    """

    def __init__(
        self,
        settings: QuerySettings,
        schema: StructType,
        *,
        now: Callable[[], float] = time.monotonic,
        backoff: Backoff | None = None,
    ) -> None:
        self.settings = settings
        self.reading = ReadOptions(settings, columns.chosen(schema, settings))
        self.directory = StreamDirectory(settings)
        self.backoff = backoff or Backoff()
        self.now = now
        self.acknowledged: StreamOffsets | None = None  # up to where; at first where a new query starts
        self.position: StreamOffsets | None = (
            None  # where the query stands, for Spark 4.1, which does not say
        )
        self.target: StreamOffsets | None = None  # where a query that reads only what is there ends
        self.latest: Offset | None = None
        self.waiting_since: float | None = None  # since when there is less than minOffsetsPerTrigger
        self.known: dict[str, str] = {}  # streams that may be read, with when they were created
        self.ended: StreamOffsets = {}  # where streams ended at the last check
        # The offset that the last batch starts at, as Spark gave it and with what was known then.
        self.dated: tuple[StreamOffsets, StreamOffsets] = ({}, {})
        self.warned: set[str] = set()

    # -- offsets, on the driver

    def initialOffset(self) -> Offset:  # noqa: N802 - Spark's name, as those below
        """Return where a new query starts.

        Raises what `PositionResolver.start` raises, and OptionError if consumerDurable is missing or not
        allowed. A work queue must be read from its first message: another start is an OptionError.
        """
        found = self._statuses()
        bounds = PositionResolver(self.settings, self.directory)
        self.position = {
            name: _start(_kept(bounds.start(stream), stream), stream, earliest=bounds.late_bound(name))
            for name, stream in found.items()
        }
        self.acknowledged = self.position
        return offsets.write(self.position)

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """Return the limit of the options.

        It is the maximum if they have both; this reader applies the minimum by itself.

        If they have both a maximum and a minimum, it is the maximum; this reader applies the minimum by
        itself.
        """
        if self.settings.max_offsets:
            return ReadMaxRows(self.settings.max_offsets)
        if self.settings.min_offsets:
            return ReadMinRows(self.settings.min_offsets)
        return ReadAllAvailable()

    def latestOffset(  # noqa: N802
        self, start: Mapping[str, Any] | None = None, limit: ReadLimit | None = None
    ) -> Offset:
        """Return where the next batch ends; `start` itself if there is nothing for one.

        If there was nothing the last time, this waits a moment first, because Spark asks again at once.
        Raises DataLoss and Recreated if failOnDataLoss is true. Spark 4.1 provides neither start nor limit,
        so there the first batch after a restart has no limit.
        """
        self.backoff.pause()
        if (
            start is None
            and self.position is None
            and (self.settings.max_offsets or self.settings.min_offsets)
        ):
            self._warn(UNLIMITED)
        given = offsets.read(start) if start is not None else self.position
        found = self._statuses(missing_ok=given is not None)
        if start is not None and given is not None:
            self._acknowledge(given)
        dates = {name: self._dated(mark, name) for name, mark in (given or {}).items()}
        before = self._still_there(dates, found) if given is not None else None
        self.ended = {name: _start(stream.last + 1, stream) for name, stream in found.items()}
        end = {name: self._end(stream, before) for name, stream in found.items()}
        end |= {name: mark for name, mark in (before or {}).items() if name not in found}
        self.latest = offsets.write(end)
        if self.target is not None:
            end = _not_beyond(end, self.target)
        if before is not None:
            end = self._limited(before, end, limit)
        if given is not None and (
            end is before or (not offsets.ranges(before or {}, end) and not _moved(given, end))
        ):
            self.backoff.idle()
            return offsets.write(given)
        if given is not None:
            self.dated = given, dates
        self.backoff.busy()
        if before is not None and end is not before:
            cuts = self.directory.cuts(found, offsets.ranges(before, end))
            end = {name: replace(mark, cuts=cuts.get(name, ())) for name, mark in end.items()}
        self.position = end
        return offsets.write(end)

    def reportLatestOffset(self) -> Offset | None:  # noqa: N802
        """Return where the streams ended when they were last checked."""
        return self.latest

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Set the present ends of the streams, or where endingTimestamp is, as the last to read up to."""
        bounds = PositionResolver(self.settings, self.directory)
        found = self._statuses()
        self.target = {name: _start(bounds.end(stream), stream) for name, stream in found.items()}

    def partitions(self, start: Mapping[str, Any], end: Mapping[str, Any]) -> list[InputPartition]:
        """Return the tasks of the batch between two offsets, always the same for the same two."""
        since, marks = offsets.read(start), offsets.read(end)
        self.position = marks
        known = self.dated[1] if since == self.dated[0] else since
        pieces = cut(
            offsets.ranges(since, marks),
            {name: mark.cuts for name, mark in marks.items()},
            least=self.settings.min_partitions,
            most=self.settings.max_records,
        )
        return [
            ReadTask(
                StreamRange(
                    name,
                    low,
                    high,
                    self.settings.subjects,
                    marks[name].created,
                    late_bound=offsets.late_bound(since, marks, name),
                    stored_after=known[name].after if name in known else 0,
                )
            )
            for name, low, high in pieces
        ]

    def commit(self, end: Mapping[str, Any]) -> None:
        """Note that the batches up to `end` are done, and acknowledge them if the options ask for it."""
        self.backoff.busy()
        if self.settings.durable:
            self._statuses(missing_ok=True)
            self._acknowledge(offsets.read(end))

    def _acknowledge(self, done: StreamOffsets) -> None:
        """Acknowledge the batches that are done, once.

        Spark commits a batch only when it begins the next one. But when it asks what comes after a batch,
        that batch is done. Acknowledging it then empties a queue as soon as all of it was read.
        """
        durable = self.settings.durable
        if not durable or done == self.acknowledged:
            return
        for name, mark in done.items():  # with a durable, all streams are acknowledged
            if self.known.get(name) == mark.created:
                self.directory.ask(
                    functools.partial(queue.acknowledge, stream=name, durable=durable, end=mark.next)
                )
        self.acknowledged = done

    def stop(self) -> None:
        """Close the connection."""
        self.directory.close()

    # -- rows, on executors

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Return the rows of one task."""
        return self.reading.batches(partition)

    # -- within

    def _statuses(self, *, missing_ok: bool = False) -> dict[str, StreamStatus]:
        """Return the streams as they are now; check, for each new one, whether and how it may be read."""
        settings = self.settings
        found = self.directory.stream_statuses(missing_ok=missing_ok)
        for stream in found.values():
            if self.known.get(stream.name) == stream.created:
                continue
            check_retention(settings, stream)
            if stream.retention != LIMITS:
                self.directory.ask(
                    functools.partial(
                        queue.ensure, stream=stream, durable=settings.durable, subjects=settings.subjects
                    )
                )
            self.known[stream.name] = stream.created
        return found

    def _still_there(self, given: StreamOffsets, found: dict[str, StreamStatus]) -> StreamOffsets:
        """Return where reading continues: where the query stands, unless the stream lost those messages."""
        kept = {}
        for name, mark in given.items():
            stream = found.get(name)
            loss = lost(mark, stream) if stream is not None else UnknownStream(name)
            if loss is None:
                first = max(mark.next, stream.first if stream else 0)
                kept[name] = StreamOffset(first, mark.created, after=mark.after)
                continue
            if self.settings.fail_on_data_loss:
                raise loss
            self._warn(loss.happened if isinstance(loss, DataLoss) else str(loss))
            kept[name] = resumed(mark, stream) if stream is not None else mark
        return kept

    def _dated(self, mark: StreamOffset, name: str) -> StreamOffset:
        """Return a mark whose `after` says what the last check showed: an idle stream's offset grows old."""
        ended = self.ended.get(name)
        known = ended is not None and ended.created == mark.created and ended.next <= mark.next
        return replace(mark, after=max(mark.after, ended.after)) if known and ended else mark

    def _end(self, stream: StreamStatus, before: StreamOffsets | None) -> StreamOffset:
        """Return the end of a stream, with where it begins if the query has not read it yet."""
        known = (before or {}).get(stream.name)
        since = known.since if known else stream.first if before is not None else 0
        return replace(_start(stream.last + 1, stream), since=since)

    def _limited(self, before: StreamOffsets, end: StreamOffsets, limit: ReadLimit | None) -> StreamOffsets:
        if limit is not None and isinstance(limit, ReadAllAvailable):
            return end
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else self.settings.max_offsets
        least = limit.min_rows if isinstance(limit, ReadMinRows) else self.settings.min_offsets
        if least and self.target is None and self._should_wait(before, end, least):
            return before
        return offsets.between(self._past_gaps(before, end, most), end, most)

    def _past_gaps(self, before: StreamOffsets, end: StreamOffsets, most: int) -> StreamOffsets:
        """Return where the next messages are, if more sequences wait than one batch may have.

        A limit then counts from there, and no batch is spent on a gap, however long that is.
        """
        waiting = offsets.ranges(before, end)
        if not most or sum(last - first for first, last in waiting.values()) <= most:
            return before
        passed = dict(before)
        for name, (first, last) in waiting.items():
            if name in before and before[name].created == end[name].created:
                passed[name] = replace(before[name], next=self.directory.next_sequence(name, first, last))
        return passed

    def _should_wait(self, before: StreamOffsets, end: StreamOffsets, least: int) -> bool:
        there = sum(last - first for first, last in offsets.ranges(before, end).values())
        if there >= least or not there:
            self.waiting_since = None
            return False
        if self.waiting_since is None:
            self.waiting_since = self.now()
        if self.now() - self.waiting_since < self.settings.max_trigger_delay:
            return True
        self.waiting_since = None
        return False

    def _warn(self, text: str) -> None:
        """Log a warning once: Spark asks many times a second."""
        if text not in self.warned:
            self.warned.add(text)
            LOG.warning("%s", text)


def _start(sequence: int, stream: StreamStatus, *, earliest: bool = False) -> StreamOffset:
    """Return the offset of a reader that continues at a sequence of a stream as it is now."""
    return StreamOffset(sequence, stream.created, earliest=earliest, after=stream.stored_after(sequence))


def _kept(start: int, stream: StreamStatus) -> int:
    """Return the start of a new query.

    Raises OptionError if it would remove unread messages of a work queue.
    """
    if stream.retention == WORK_QUEUE and start > stream.first:
        raise OptionError(
            "startingOffsets",
            f"stream {stream.name} has workqueue retention: its messages {stream.first} to {start - 1} would "
            "be acknowledged, and so removed, without being read",
            "start at earliest, or remove them first",
        )
    return start


def _moved(before: StreamOffsets, after: StreamOffsets) -> bool:
    """Return whether the query moved without messages in between: to another stream, or one that shrank."""
    return {name: (mark.next, mark.created) for name, mark in before.items()} != {
        name: (mark.next, mark.created) for name, mark in after.items()
    }


def _not_beyond(end: StreamOffsets, target: StreamOffsets) -> StreamOffsets:
    """Limit the ends to those of the target; streams created since are left to the next run."""
    return {
        name: mark if mark.next <= target[name].next else replace(target[name], since=mark.since)
        for name, mark in end.items()
        if name in target and target[name].created == mark.created
    }
