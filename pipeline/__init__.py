"""JetStream streams as Spark tables: the data source `jetstream`, and what runs around it.

`pip install 'pyjs[spark]'` and Java 17 or newer are all it needs. Where pyjs is installed PySpark finds the
source by itself; `register(spark)` gives it to a session that was started before, or looks for none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["register"]


def register(spark: SparkSession) -> None:
    """Make `spark.read.format("jetstream")`, `readStream`, `write` and `writeStream` known to a session."""
    from .source.datasource import JetStreamSource

    spark.dataSource.register(JetStreamSource)
