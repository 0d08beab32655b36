"""JetStream streams as Spark tables: the data source `jetstream`, and what runs around it.

It needs `pip install 'pyjs[spark]'` and Java 17 or newer, and nothing else. Where pyjs is installed, PySpark
finds the source by itself. `register(spark)` makes it known to a session that was started earlier, or that
does not look for data sources.
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
