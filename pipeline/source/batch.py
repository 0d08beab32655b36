"""Batch reads: `spark.read.format("jetstream")`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, InputPartition

from ..jetstream import StreamRange, StreamStatus
from ..options import OptionError, QuerySettings
from . import columns
from .bounds import PositionResolver
from .directory import LIMITS, StreamDirectory
from .partitions import cut
from .read_task import ReadOptions, ReadTask

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType


class BatchReader(DataSourceReader):
    """Reads from the starting to the ending position, both resolved when the read is planned.

    Reading a work queue removes nothing from it, since nothing is acknowledged.
    """

    def __init__(self, settings: QuerySettings, schema: StructType) -> None:
        self.settings = settings
        self.reading = ReadOptions(settings, columns.chosen(schema, settings))

    def partitions(self) -> list[InputPartition]:
        """Return the tasks of the read.

        Raises UnknownStream, the errors of `PositionResolver`, and those of the connection.
        """
        directory = StreamDirectory(self.settings)
        try:
            found = directory.stream_statuses()
            if self.settings.last_per_subject:
                return [_last(stream, self.settings.subjects) for _, stream in sorted(found.items())]
            bounds = PositionResolver(self.settings, directory)
            ranges = {name: (bounds.start(stream), bounds.end(stream)) for name, stream in found.items()}
            ranges = {name: (start, end) for name, (start, end) in ranges.items() if start < end}
            cuts = directory.cuts(found, ranges)
        finally:
            directory.close()
        pieces = cut(ranges, cuts, least=self.settings.min_partitions, most=self.settings.max_records)
        return [
            ReadTask(
                StreamRange(
                    name,
                    start,
                    end,
                    self.settings.subjects,
                    found[name].created,
                    late_bound=bounds.late_bound(name),
                    stored_after=found[name].stored_after(start),
                )
            )
            for name, start, end in pieces
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Return the rows of one task."""
        return self.reading.batches(partition)


def _last(stream: StreamStatus, subjects: tuple[str, ...]) -> ReadTask:
    """Return the task that reads the last message of each subject of a stream. Raises OptionError."""
    if stream.retention != LIMITS:
        what = (
            f"stream {stream.name} has {stream.retention} retention, where a consumer removes what it reads"
        )
        raise OptionError("lastPerSubject", what, "leave it out")
    end = stream.last + 1
    return ReadTask(
        StreamRange(stream.name, stream.first, end, subjects, stream.created, last_per_subject=True)
    )
