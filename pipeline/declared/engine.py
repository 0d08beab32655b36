"""The Spark session that a document asks for: local, on a cluster, or a remote one."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ...documents.problem import DocumentProblem
from .. import java
from .. import session as sessions
from . import failure, lakehouse, packages, secrets
from .document import BATCH, ConsoleSink, PipelineDocument
from .reading import LoadedDocument
from .section import option_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL = "local[*]"
ADDED = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.stopTimeout": "30s",
}
LISTS = ("spark.jars.packages", "spark.jars", lakehouse.EXTENSIONS)  # settings whose values are lists
LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
CONNECT_PORT = 15002
CONNECT_SECONDS = 10.0
NO_CATALOG = "no catalog of this name is configured"
CATALOG_HINT = "warehouse: FOLDER makes one of the folder; or spark: {conf: {spark.sql.catalog.NAME: …}}"
NO_CONSOLE = "with Spark Connect a stream's batches are in the server: none can be shown here"
CONSOLE_HINT = "trigger: batch shows rows; a stream can go to files or to another stream"
NO_CONNECT = "a remote session needs Spark Connect's packages: pip install 'pyspark[connect]'"


def place(document: PipelineDocument) -> str:
    """Return where it runs: a master, or the URL of a remote session without its token."""
    return secrets.clean(document.spark.remote or document.spark.master or LOCAL)


def on_this_machine(document: PipelineDocument) -> bool:
    """Return whether driver and executors are on this machine."""
    return place(document).startswith("local")


def settings(document: PipelineDocument, folder: Path) -> dict[str, str]:
    """Return Spark's settings: those that pyjs adds, overridden by those of the document.

    folder: where the document's relative paths start
    """
    spark = document.spark
    found = dict(ADDED)
    if on_this_machine(document):
        # Spark's 200 are for clusters: on one machine they make every batch with a shuffle take seconds.
        found["spark.sql.shuffle.partitions"] = str(max(2, os.cpu_count() or 2))
    loaded = [
        each
        for each in lakehouse.used(document)
        if on_this_machine(document) or lakehouse.is_loaded(each, document)
    ]
    found |= lakehouse.session_settings(document, folder, loaded)
    if wanted := packages.wanted(document, here=on_this_machine(document)):
        found["spark.jars.packages"] = ",".join(wanted)
    if spark.jars:
        found["spark.jars"] = ",".join(spark.jars)
    conf = {key: option_text(value) for key, value in spark.conf.items()}
    for key in LISTS:  # the document's own come with those of pyjs
        if key in conf and key in found:
            conf[key] = ",".join(dict.fromkeys((*found[key].split(","), *conf[key].split(","))))
    return found | conf


@contextlib.contextmanager
def opened(
    loaded: LoadedDocument, log: Path | None, tell: Callable[[str], None] = lambda _: None
) -> Iterator[SparkSession]:
    """Provide the session, which ends with the block. Java's output goes into `log`, or to stderr without.

    tell: is called with each stage on the way, in words

    Raises session.SparkError and java.JavaError, whose texts say what to do.
    """
    _hush()
    document = loaded.document
    if not document.spark.remote:
        wanted = settings(document, loaded.folder)
        _tell_start(wanted, tell)
        with _local(document, wanted, log) as spark:
            yield spark
        return
    tell(f"connecting to {place(document)}")
    spark = _remote(document)
    try:
        yield spark
    finally:
        spark.stop()


def _tell_start(wanted: Mapping[str, str], tell: Callable[[str], None]) -> None:
    """Tell what Spark is started with. Raises java.JavaError."""
    found, spark = java.find(), lakehouse.installed()
    what = f"Spark {spark.version}" if spark else "Spark"
    named = [each.split(":")[1] for each in wanted.get("spark.jars.packages", "").split(",") if ":" in each]
    if named:
        tell(f"fetching {', '.join(named)} from Maven, if not here already, and starting {what}")
    else:
        tell(f"starting {what} on Java {found.version}")


class LackingError(sessions.SparkError):
    """A package that the session has to load is in no registry; `hint` says what to do."""

    hint = packages.HINT


@contextlib.contextmanager
def _local(document: PipelineDocument, wanted: Mapping[str, str], log: Path | None) -> Iterator[SparkSession]:
    """Provide a session of this process. Raises SparkError, which names a package that no registry has."""
    began = False
    said_before = log.stat().st_size if log is not None and log.exists() else 0
    try:
        with sessions.session(
            f"pyjs {document.name}", master=place(document), settings=wanted, log=log
        ) as spark:
            began = True
            yield spark
    except sessions.SparkError as error:
        lacking = [] if began or log is None else packages.unresolved(log, said_before)
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

    These are, on this machine (a cluster has its own), a format without a release for the installed Spark,
    and an Iceberg catalog that nothing configures; and the console of a stream by Connect, whose server runs
    what is done with each batch.
    """
    document = loaded.document
    found = []
    spark = lakehouse.installed() if on_this_machine(document) else None
    lacking = lakehouse.lacking(document) if spark else []
    for name, sink in document.sinks.items():
        wanted = lakehouse.of_sink(sink)
        if spark and wanted in lacking and wanted.package(spark) is None:
            found.append(_at(loaded, name, *_no_release(wanted, spark)))
        if isinstance(sink, ConsoleSink) and document.spark.remote and document.trigger != BATCH:
            found.append(_at(loaded, name, NO_CONSOLE, CONSOLE_HINT))
    if on_this_machine(document):
        unknown = lakehouse.unknown_catalogs(document)
        found += [_at(loaded, name, NO_CATALOG, CATALOG_HINT, key="table") for name in unknown]
    return found


def _no_release(wanted: lakehouse.TableFormat, spark: lakehouse.SparkBuild) -> tuple[str, str]:
    known = ", ".join(sorted(wanted.releases))
    what = f"{wanted.title} has no release for Spark {spark.version} that pyjs knows (it has for {known})"
    how = f"in an environment of its own: pip install 'pyjs[spark,{wanted.name}]', which brings Spark "
    return what, f"{how}{wanted.newest}; or spark: {{packages: [GROUP:NAME:VERSION]}} names a release"


def _at(loaded: LoadedDocument, sink: str, message: str, hint: str, key: str = "format") -> DocumentProblem:
    place = loaded.place("sinks", sink, key)
    line, column = (place.line, place.column) if place else (0, 0)
    return DocumentProblem(f"sinks.{sink}.{key}", message, line, column, hint)
