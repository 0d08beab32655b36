"""One task: a slice of a stream as record batches, on the machine that runs it."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyspark.sql.datasource import InputPartition

from ..jetstream import Api, Facts, UnknownStream, read
from ..link import Link
from ..options import Settings
from .directory import LIMITS
from .loss import Recreated
from .slices import Slice

if TYPE_CHECKING:
    import pyarrow as pa

LOG = logging.getLogger("pyjs.pipeline")


class Task(InputPartition):
    """What Spark sends to the machine that reads: a slice, and nothing that is secret."""

    def __init__(self, part: Slice) -> None:
        super().__init__(part)

    def __repr__(self) -> str:
        return f"Task({self.value!r})"


@dataclass(frozen=True)
class Reading:
    """How slices are read: the same for all of a query; travels with Spark's plan to where they are."""

    settings: Settings = field(repr=False)
    columns: Sequence[str]

    def batches(self, task: InputPartition) -> Iterator[pa.RecordBatch]:
        """The messages of a slice. Spark gives a task without a slice when there is nothing to read.

        Raises Recreated when the stream is not the one that was planned with and DataLoss when messages went
        before they were read (with failOnDataLoss=false it warns of both), ShortRead, and the link's errors.
        """
        part = task.value
        if not isinstance(part, Slice):
            return
        settings = self.settings
        with Link.open(settings.address) as link:
            api = Api(link, settings.api_prefix)
            facts = self._facts(api, part)
            if facts is None:
                return
            yield from read(
                link,
                api,
                part.range,
                batch=settings.batch_rows,
                headers=settings.include_headers,
                domain=settings.domain or str(link.server_info.get("domain") or ""),
                columns=self.columns,
                # What a work queue has no more was acknowledged by somebody.
                tolerate_loss=not settings.fail_on_data_loss or facts.retention != LIMITS,
                retries=settings.retries,
                retry_interval=settings.retry_interval,
            )
            self._facts(api, part)

    def _facts(self, api: Api, part: Slice) -> Facts | None:
        """The stream now, None when it is not the one that was planned with."""
        name = part.range.stream
        try:
            now = api.stream(name)
        except UnknownStream:
            if self.settings.fail_on_data_loss:
                raise
            LOG.warning(
                "stream %s is gone, with sequences %d to %d", name, part.range.start, part.range.end - 1
            )
            return None
        if now.created == part.created:
            return now
        error = Recreated(part.range.stream, part.range.start, part.created, now.created)
        if self.settings.fail_on_data_loss:
            raise error
        LOG.warning("%s", error)
        return None
