"""One task: a slice of a stream as record batches, on the machine that runs it."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyspark.sql.datasource import InputPartition

from ..jetstream import (
    DataLoss,
    JetStreamRequests,
    Retries,
    StreamRange,
    StreamStatus,
    UnknownStream,
    read,
    read_last,
)
from ..options import QuerySettings
from .directory import LIMITS, StreamDirectory
from .loss import Recreated

if TYPE_CHECKING:
    import pyarrow as pa

LOG = logging.getLogger("pyjs.pipeline")


class ReadTask(InputPartition):
    """What Spark sends to the machine that reads: a range of a stream, and nothing secret."""

    def __init__(self, wanted: StreamRange) -> None:
        super().__init__(wanted)


@dataclass(frozen=True)
class ReadOptions:
    """The settings for reading ranges, the same for all of a query; they are sent with Spark's plan."""

    settings: QuerySettings = field(repr=False)
    columns: Sequence[str]

    def batches(self, task: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the messages of a range. Spark runs a task without a range when there is nothing to read.

        Raises Recreated or UnknownStream if the planned stream is gone, DataLoss if messages were removed
        before they were read (with failOnDataLoss=false these are warnings), ShortRead, and the errors of the
        connection.
        """
        wanted, settings = task.value, self.settings
        if not isinstance(wanted, StreamRange):
            return
        directory = StreamDirectory(settings)
        try:
            found = self._facts(directory, wanted)
            if found is None:
                return
            api, stream = found
            yield from self._rows(api, stream, wanted)
        finally:
            directory.close()

    def _rows(
        self, api: JetStreamRequests, stream: StreamStatus, wanted: StreamRange
    ) -> Iterator[pa.RecordBatch]:
        settings, connection = self.settings, api.connection
        domain = settings.domain or str(connection.server_info.get("domain") or "")
        # What is missing in a work queue was acknowledged by somebody.
        tolerate_loss = not settings.fail_on_data_loss or stream.retention != LIMITS
        if wanted.last_per_subject:
            yield from read_last(
                connection,
                api,
                wanted.stream,
                wanted.subjects,
                batch=settings.batch_rows,
                domain=domain,
                columns=self.columns,
                tolerate_loss=tolerate_loss,
                retries=Retries(settings.retries, settings.retry_interval),
            )
            return
        yield from read(
            connection,
            api,
            wanted,
            batch=settings.batch_rows,
            domain=domain,
            columns=self.columns,
            tolerate_loss=tolerate_loss,
            retries=settings.retries,
            retry_interval=settings.retry_interval,
        )

    def _facts(
        self, directory: StreamDirectory, wanted: StreamRange
    ) -> tuple[JetStreamRequests, StreamStatus] | None:
        """Return the stream's facts, with the API that gave them.

        None after a warning if the stream is gone or another one of its name.
        """
        loss: Exception
        try:
            api, now = directory.ask(lambda api: (api, api.stream(wanted.stream)))
        except UnknownStream as error:
            loss = error
        else:
            if now.created == wanted.created:
                return api, now
            loss = Recreated(wanted.stream, wanted.start, wanted.created, now.created)
        if self.settings.fail_on_data_loss:
            raise loss
        happened = loss.happened if isinstance(loss, DataLoss) else loss
        LOG.warning("sequences %d to %d are not read: %s", wanted.start, wanted.end - 1, happened)
        return None
