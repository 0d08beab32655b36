"""JetStream streams as Spark tables: the data source `jetstream`, and what runs around it.

It needs `pip install 'pyjs[spark]'` and Java 17 or newer, and nothing else. Where pyjs is installed, PySpark
finds the source by itself. `register(spark)` makes it known to a session that was started earlier, or that
does not look for data sources.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["register", "table"]


def register(spark: SparkSession) -> None:
    """Make `spark.read.format("jetstream")`, `readStream`, `write` and `writeStream` known to a session."""
    from .source.datasource import JetStreamSource

    spark.dataSource.register(JetStreamSource)


def table(spark: SparkSession, stream: str = "", *, view: str = "", **options: str) -> DataFrame:
    """Return a stream as it is now, as a DataFrame; a notebook's cell that calls it again sees what is new.

    Spark keeps what it has planned for a DataFrame of a Python source: each use of one DataFrame, and each
    query of one view, has the messages that were there when it was first used. This loads the stream again.

    view: the name of a temporary view to make of it, or to replace, for SQL
    options: those of the data source `jetstream`, such as `servers` and `bucket`

    Raises Spark's errors, with those of the source in their texts, for options that are wrong.
    """
    given = options | ({"stream": stream} if stream else {})
    frame = spark.read.format("jetstream").options(**given).load()
    if view:
        frame.createOrReplaceTempView(view)
    return frame
