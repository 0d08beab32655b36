"""Batch reads: `spark.read.format("jetstream")`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceReader, InputPartition

from ..jetstream import StreamRange, StreamStatus
from ..options import QuerySettings
from . import columns
from .bounds import PositionResolver
from .directory import StreamDirectory
from .partitions import cut
from .pushdown import PushedFilters, push
from .read_task import ReadOptions, ReadTask

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

PUSHING_WORKER = "pyspark.sql.worker.data_source_pushdown_filters"


class BatchReader(DataSourceReader):
    """Reads from the starting to the ending position, both resolved when the read is planned.

    Reading a work queue removes nothing from it, since nothing is acknowledged.
    """

    def __init__(self, settings: QuerySettings, schema: StructType) -> None:
        self.settings = settings
        self.reading = ReadOptions(settings, columns.chosen(schema))
        self.narrowed = PushedFilters(settings.subjects)

    def partitions(self) -> list[InputPartition]:
        """Return the tasks of the read.

        Raises UnknownStream, the errors of `PositionResolver`, and those of the connection.
        """
        directory = StreamDirectory(self.settings)
        try:
            found = {} if self.narrowed.nothing else directory.stream_statuses()
            bounds = PositionResolver(self.settings, directory)
            ranges = {
                name: self._range(stream, bounds)
                for name, stream in found.items()
                if self.narrowed.streams is None or name in self.narrowed.streams
            }
        finally:
            directory.close()
        pieces = cut(
            {name: (start, end) for name, (start, end) in ranges.items() if start < end},
            least=self.settings.min_partitions,
            most=self.settings.max_records,
        )
        return [
            ReadTask(
                StreamRange(
                    name,
                    start,
                    end,
                    self.narrowed.subjects,
                    found[name].created,
                    late_bound=bounds.late_bound(name),
                )
            )
            for name, start, end in pieces
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Return the rows of one task."""
        return self.reading.batches(partition)

    def _range(self, stream: StreamStatus, bounds: PositionResolver) -> tuple[int, int]:
        """Return the sequences [start, end) of one stream that the options and the filters leave."""
        narrowed = self.narrowed
        start, end = bounds.start(stream), bounds.end(stream)
        start = max(start, narrowed.first)
        if narrowed.end is not None:
            end = min(end, narrowed.end)
        if narrowed.since is not None:
            start = max(start, bounds.at(stream, narrowed.since) or end)
        if narrowed.until is not None:
            end = min(end, bounds.at(stream, narrowed.until) or end)
        return start, end


class PushingReader(BatchReader):
    """A batch reader that accepts filters. Spark refuses it if the session does not push filters down."""

    def pushFilters(self, filters: list[Any]) -> Iterable[Any]:  # noqa: N802 - Spark's name
        """Apply the filters that the server can apply, and return those that Spark has to apply itself."""
        self.narrowed, left = push(filters, self.narrowed)
        return left


def reader(settings: QuerySettings, schema: StructType) -> BatchReader:
    """Return the reader for this session.

    Spark plans in a separate worker when it has filters to push down; only there, and only with the option
    pushFilters, is it a `PushingReader`. Filters are not pushed by default because Spark (4.3) keeps what a
    DataFrame's reader planned with the filters of one scan and reuses it for its other scans, which have
    other filters or none. They would miss rows.
    """
    if not settings.push_filters:
        return BatchReader(settings, schema)
    main = getattr(sys.modules.get("__main__"), "__spec__", None)
    pushing = PUSHING_WORKER in sys.modules or (main is not None and main.name == PUSHING_WORKER)
    return (PushingReader if pushing else BatchReader)(settings, schema)
