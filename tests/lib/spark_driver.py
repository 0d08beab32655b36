"""A process with a Spark session and one stream query that runs until it is killed.

`python -m lib.spark_driver SERVERS STREAM FOLDER` reads from the stream into FOLDER/rows, with
FOLDER/checkpoint. Its first line is the process id of its Java, which would end by itself with this process,
but in good order. Then it waits for a line before it starts the query.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyjs.pipeline.session import session

from .spark_settings import QUICK

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PER_BATCH = 50


def start(
    spark: SparkSession, servers: str, stream: str, folder: Path, per_batch: int = PER_BATCH, **trigger: Any
) -> Any:
    """Start the query; `trigger` is Spark's, by default batch after batch."""
    options = {
        "servers": servers,
        "stream": stream,
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": str(per_batch),
    }
    frame = spark.readStream.format("jetstream").options(**options).load()
    writer = frame.writeStream.format("parquet").option("checkpointLocation", str(folder / "checkpoint"))
    return writer.trigger(**(trigger or {"processingTime": "0 seconds"})).start(str(folder / "rows"))


def java_of(spark: SparkSession) -> int:
    """Return the process id of a session's Java."""
    java: Any = spark.sparkContext._jvm
    return int(java.java.lang.ProcessHandle.current().pid())


def main(servers: str, stream: str, folder: str) -> None:
    """Run the driver."""
    with session("pyjs killed", master="local[2]", settings=QUICK) as spark:
        sys.stdout.write(f"{java_of(spark)}\n")
        sys.stdout.flush()
        if sys.stdin.readline():
            start(spark, servers, stream, Path(folder)).awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
