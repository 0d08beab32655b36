"""The Spark session that a document asks for: local, on a cluster, or a remote one."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ...documents.problem import DocumentProblem
from .. import session as sessions
from . import failure, packages, secrets
from .document import BATCH, ConsoleSink, FolderSink, PipelineDocument, SinkSection
from .reading import LoadedDocument
from .section import option_text

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
CONNECT_PORT = 15002
CONNECT_SECONDS = 10.0
NO_DELTA = "Delta is not part of Spark: add its package"
DELTA_HINT = (
    "spark: {packages: ['io.delta:delta-spark_2.13:VERSION']}; docs.delta.io/releases says which VERSION is "
    "for which Spark"
)
NO_CONSOLE = "with Spark Connect a stream's batches are in the server: none can be shown here"
CONSOLE_HINT = "trigger: batch shows rows; a stream can go to files or to another stream"
NO_CONNECT = "a remote session needs Spark Connect's packages: pip install 'pyspark[connect]'"


def place(document: PipelineDocument) -> str:
    """Return where it runs: a master, or the URL of a remote session without its token."""
    return secrets.clean(document.spark.remote or document.spark.master or LOCAL)


def on_this_machine(document: PipelineDocument) -> bool:
    """Return whether driver and executors are on this machine."""
    return place(document).startswith("local")


def settings(document: PipelineDocument) -> dict[str, str]:
    """Return Spark's settings: those that pyjs adds, overridden by those of the document."""
    spark = document.spark
    found = dict(ADDED)
    if on_this_machine(document):
        # Spark's 200 are for clusters: on one machine they make every batch with a shuffle take seconds.
        found["spark.sql.shuffle.partitions"] = str(max(2, os.cpu_count() or 2))
    loads = [*spark.packages, *spark.jars]
    if any("delta" in each for each in loads) and _uses_delta(document):
        found |= DELTA
    if wanted := packages.wanted(document):
        found["spark.jars.packages"] = ",".join(wanted)
    if spark.jars:
        found["spark.jars"] = ",".join(spark.jars)
    return found | {key: option_text(value) for key, value in spark.conf.items()}


@contextlib.contextmanager
def opened(document: PipelineDocument, log: Path | None) -> Iterator[SparkSession]:
    """Provide the session, which ends with the block. Java's output goes into `log`, or to stderr without.

    Raises session.SparkError and java.JavaError, whose texts say what to do.
    """
    _hush()
    if not document.spark.remote:
        with _local(document, log) as spark:
            yield spark
        return
    spark = _remote(document)
    try:
        yield spark
    finally:
        spark.stop()


class LackingError(sessions.SparkError):
    """A package that the session has to load is in no registry; `hint` says what to do."""

    hint = packages.HINT


@contextlib.contextmanager
def _local(document: PipelineDocument, log: Path | None) -> Iterator[SparkSession]:
    """Provide a session of this process. Raises SparkError, which names a package that no registry has."""
    began = False
    try:
        with sessions.session(
            f"pyjs {document.name}", master=place(document), settings=settings(document), log=log
        ) as spark:
            began = True
            yield spark
    except sessions.SparkError as error:
        lacking = [] if began else packages.unresolved(log)
        if not lacking:
            raise
        raise LackingError(f"no registry that Spark asked has {', '.join(lacking)}") from error


def _hush() -> None:
    """Silence the JSON that PySpark prints on stderr for errors that it also raises.

    Those who catch the error report it better.
    """
    with contextlib.suppress(ImportError):  # `session` reports a missing PySpark
        from pyspark.logger import PySparkLogger

        for name in LOGGERS:
            PySparkLogger.getLogger(name).disabled = True


def _remote(document: PipelineDocument) -> SparkSession:
    from .. import register

    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise sessions.SparkError(sessions.MISSING) from None
    _reach(document)
    try:
        builder = SparkSession.builder.remote(str(document.spark.remote))
        for key, value in document.spark.conf.items():
            builder = builder.config(key, option_text(value))
        spark = builder.getOrCreate()
        register(spark)
    except ImportError as error:
        raise sessions.SparkError(f"{NO_CONNECT} ({error})") from None
    except Exception as error:
        reasons = "; ".join(filter(None, failure.describe(error)))
        raise sessions.SparkError(f"no session at {place(document)}: {reasons}") from error
    return spark


def _reach(document: PipelineDocument) -> None:
    """Raise SparkError if nothing listens where the session will be.

    Connect itself would keep trying for ten minutes.
    """
    url = urlsplit(str(document.spark.remote))
    try:
        address = (url.hostname or "", url.port or CONNECT_PORT)
        socket.create_connection(address, CONNECT_SECONDS).close()
    except (OSError, ValueError) as error:
        raise sessions.SparkError(f"no session at {place(document)}: {error}") from None


def problems(loaded: LoadedDocument) -> list[DocumentProblem]:
    """Return what the document's session cannot do.

    These are Delta on this machine without its package (a cluster has its own), and the console of a stream
    by Connect, whose server runs what is done with each batch.
    """
    document = loaded.document
    found = []
    for name, sink in document.sinks.items():
        if _is_delta(sink) and on_this_machine(document) and not _has_delta(document):
            found.append(_at(loaded, name, NO_DELTA, DELTA_HINT))
        if isinstance(sink, ConsoleSink) and document.spark.remote and document.trigger != BATCH:
            found.append(_at(loaded, name, NO_CONSOLE, CONSOLE_HINT))
    return found


def _at(loaded: LoadedDocument, sink: str, message: str, hint: str) -> DocumentProblem:
    place = loaded.place("sinks", sink, "format")
    line, column = (place.line, place.column) if place else (0, 0)
    return DocumentProblem(f"sinks.{sink}.format", message, line, column, hint)


def _has_delta(document: PipelineDocument) -> bool:
    """Return whether Delta is among what the document, or Spark's own folders, load."""
    spark = document.spark
    loads = [*spark.packages, *spark.jars, *(str(value) for value in spark.conf.values())]
    if any("delta" in each for each in loads):
        return True
    with contextlib.suppress(ImportError, OSError):
        import pyspark

        home = Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent)
        if any(home.glob("jars/*delta*.jar")):
            return True
        defaults = Path(os.environ.get("SPARK_CONF_DIR") or home / "conf", "spark-defaults.conf")
        return "delta" in defaults.read_text(encoding="utf-8", errors="replace")
    return False


def _is_delta(sink: SinkSection) -> bool:
    return isinstance(sink, FolderSink) and sink.format == "delta"


def _uses_delta(document: PipelineDocument) -> bool:
    return any(_is_delta(sink) for sink in document.sinks.values())
