"""The data source `jetstream` as PySpark knows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource

from ..options import OptionError, QuerySettings
from ..options.table import READ, STREAM, WRITE
from . import columns
from .batch import BatchReader
from .stream import StreamReader

if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping

    from pyspark.sql.datasource import (
        DataSourceReader,
        DataSourceStreamReader,
        DataSourceStreamWriter,
        DataSourceWriter,
    )
    from pyspark.sql.types import StructType


CHECKPOINT = "checkpointlocation"
VIEW = "use CREATE TEMPORARY VIEW name USING jetstream OPTIONS (…), or pyjs.pipeline.table(spark, …)"


class JetStreamSource(DataSource):
    """Streams as tables: read in batches or continuously, and written to.

    Options are validated when the source is made, on the machine that runs the query. Options that are not
    allowed in a read, a stream read or a write are found when it is known which of them it is. A context is
    read on that machine, too.
    """

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        _refuse_catalog(options)
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
        return BatchReader(self.settings.for_use(READ), schema)

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

        checkpoint = next((self.given[key] for key in self.given if key.lower() == CHECKPOINT), "")
        return StreamWriter(self.settings.for_use(WRITE), schema, overwrite, checkpoint=checkpoint)


def _refuse_catalog(options: Mapping[str, str]) -> None:
    """Raise OptionError for a table of Spark's catalog.

    Spark (seen in 4.3) tells a Python source the options of CREATE TABLE once, with its own `provider`, to
    get the columns. It does not keep them: every later query has none, not even the stream's name.
    """
    if any(key.lower() == "provider" for key in options):
        what = "CREATE TABLE … USING jetstream is refused, since Spark keeps no options of such a table"
        raise OptionError("provider", what, VIEW)
    if not options:
        what = "is missing, as is every other option: Spark keeps none for a table of its catalog"
        raise OptionError("servers", what, VIEW)
