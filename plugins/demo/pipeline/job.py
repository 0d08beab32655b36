"""Orders by minute, shop and kind of goods: from the stream `aggregate` to `stats`, and to Parquet."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def main(servers: str) -> None:
    """Start Spark, and count for each line that comes from whoever started this."""
    from pyjs.pipeline.session import session

    settings = {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        # Without new orders there is nothing to write.
        "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    }
    with session("orders", settings=settings, log=Path.cwd() / "spark.log") as spark:
        print("Enter counts what has come, Ctrl-D ends")
        for _ in sys.stdin:
            count(spark, servers)


def count(spark: SparkSession, servers: str) -> None:
    """Count what has come since the last time: a query of its own, which goes on from the checkpoint."""
    from pyjs.pipeline.origin import origin
    from pyspark.sql import functions as f
    from pyspark.sql.functions import col, lit

    here = Path.cwd()
    hub = {"servers": servers, "user": "shop", "password": f"file://{here}/password"}

    def store(counted: DataFrame, batch: int) -> None:
        """Write the rows that this batch has changed, to both places; a batch done again changes nothing."""
        counted.persist()
        counted.write.mode("overwrite").parquet(f"{here}/stats.parquet/batch={batch}")
        counted.select(
            f.concat_ws(".", lit("stats"), "domain", "subject").alias("subject"),
            f.to_json(f.struct("*")).alias("data"),
            f.concat_ws("/", "minute", "domain", "subject", lit(batch)).alias("msg_id"),
        ).write.format("jetstream").options(**hub, stream="stats").mode("append").save()
        print(f"batch {batch}: {counted.count()} rows of the result have changed")
        counted.unpersist()

    messages = (
        spark.readStream.format("jetstream")
        .options(**hub, stream="aggregate", startingOffsets="earliest", includeHeaders=True)
        .load()
    )
    order = f.from_json(col("data").cast("string"), "number string, cents long, placed timestamp")
    counted = (
        messages.select(
            "subject", origin(col("headers"), ["north", "south"]).alias("domain"), order.alias("order")
        )
        .select("subject", "domain", "order.cents", "order.placed")
        .withWatermark("placed", "1 hour")  # how late a shop's orders may come
        .groupBy(f.window("placed", "1 minute"), "domain", "subject")
        .agg(f.count("*").alias("orders"), f.sum("cents").alias("cents"))
        .withColumn("minute", f.date_format("window.start", "yyyy-MM-dd'T'HH:mm'Z'"))
        .select("minute", "domain", "subject", "orders", "cents")
    )
    query = (
        counted.writeStream.outputMode("update")
        .option("checkpointLocation", f"{here}/checkpoint")
        .trigger(availableNow=True)
        .foreachBatch(store)
        .start()
    )
    query.awaitTermination()
    print(f"messages read: {sum(batch.numInputRows for batch in query.recentProgress)}")


if __name__ == "__main__":
    main(sys.argv[1])
