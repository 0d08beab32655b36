"""The Spark session that a document asks for: local, on a cluster, or a remote one."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from .. import session as sessions
from .document import Document, FolderSink, option_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL = "local[*]"
DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
ADDED = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.stopTimeout": "30s",
}
LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
NO_CONNECT = "a remote session needs Spark Connect's packages: pip install 'pyspark[connect]'"


def place(document: Document) -> str:
    """Where it runs: a master, or the URL of a remote session."""
    return document.spark.remote or document.spark.master or LOCAL


def on_this_machine(document: Document) -> bool:
    """Whether driver and executors are this machine's."""
    return place(document).startswith("local")


def settings(document: Document) -> dict[str, str]:
    """Spark's settings: those that pyjs adds, those of the document over them."""
    spark = document.spark
    found = dict(ADDED)
    if on_this_machine(document):
        # Spark's 200 are for clusters: on one machine they make every batch with a shuffle take seconds.
        found["spark.sql.shuffle.partitions"] = str(max(2, os.cpu_count() or 2))
    loads = [*spark.packages, *spark.jars]
    if any("delta" in each for each in loads) and _uses_delta(document):
        found |= DELTA
    if spark.packages:
        found["spark.jars.packages"] = ",".join(spark.packages)
    if spark.jars:
        found["spark.jars"] = ",".join(spark.jars)
    return found | {key: option_text(value) for key, value in spark.conf.items()}


@contextlib.contextmanager
def opened(document: Document, log: Path | None) -> Iterator[SparkSession]:
    """The session, ended with the block. What Java says goes into `log`, or to stderr without.

    Raises session.SparkError and java.JavaError, whose texts say what to do.
    """
    _hush()
    if not document.spark.remote:
        with sessions.session(
            f"pyjs {document.name}", master=place(document), settings=settings(document), log=log
        ) as spark:
            yield spark
        return
    spark = _remote(document)
    try:
        yield spark
    finally:
        spark.stop()


def _hush() -> None:
    """PySpark prints an error that it raises besides, as JSON on stderr; who catches it tells it better."""
    with contextlib.suppress(ImportError):  # a missing PySpark is told by the session
        from pyspark.logger import PySparkLogger

        for name in LOGGERS:
            PySparkLogger.getLogger(name).disabled = True


def _remote(document: Document) -> SparkSession:
    from .. import register

    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise sessions.SparkError(sessions.MISSING) from None
    try:
        builder = SparkSession.builder.remote(str(document.spark.remote))
        for key, value in document.spark.conf.items():
            builder = builder.config(key, option_text(value))
        spark = builder.getOrCreate()
    except ImportError as error:
        raise sessions.SparkError(f"{NO_CONNECT} ({error})") from None
    except Exception as error:
        raise sessions.SparkError(f"no session at {document.spark.remote}: {error}") from error
    register(spark)
    return spark


def _uses_delta(document: Document) -> bool:
    return any(isinstance(sink, FolderSink) and sink.format == "delta" for sink in document.sinks.values())
