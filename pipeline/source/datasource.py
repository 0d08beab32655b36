"""The data source `jetstream` as PySpark knows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource

from ..options import QuerySettings
from ..options.table import READ, STREAM, WRITE
from . import batch, columns
from .stream import StreamReader

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from pyspark.sql.datasource import (
        DataSourceReader,
        DataSourceStreamReader,
        DataSourceStreamWriter,
        DataSourceWriter,
    )
    from pyspark.sql.types import StructType


class JetStreamSource(DataSource):
    """Streams as tables: read in batches or continuously, and written to.

    Options are validated when the source is made, on the machine that runs the query. Options that are not
    allowed in a read, a stream read or a write are found when it is known which of them it is. A context is
    read on that machine, too.
    """

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self.given = dict(options)
        self.settings = QuerySettings.of(self.given)

    @classmethod
    def name(cls) -> str:
        """The name for `format`."""
        return "jetstream"

    def schema(self) -> StructType:
        """Return the columns of a read."""
        return columns.schema(self.settings)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return the reader for `spark.read`."""
        return batch.reader(self.settings.for_use(READ), schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        """Return the reader for `spark.readStream`."""
        return StreamReader(self.settings.for_use(STREAM), schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """Return the writer for `df.write`."""
        from ..sink.writer import BatchWriter

        return BatchWriter(self.settings.for_use(WRITE), schema, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802
        """Return the writer for `df.writeStream`."""
        from ..sink.writer import StreamWriter

        return StreamWriter(self.settings.for_use(WRITE), schema, overwrite)
