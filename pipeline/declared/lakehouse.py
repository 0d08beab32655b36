"""Table formats that are not part of Spark: Delta and Iceberg, their artifacts and their settings.

Each release of theirs is for certain minor versions of Spark, because both use Spark's internals: Delta 4.4.0
for Spark 4.2 fails in Spark 4.3 when it reads. So `package` chooses by the Spark that is installed, and knows
none for a Spark that has no release yet. These were tried, each with its Spark: a query that is killed, goes
on, and is read back.
"""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from .cross_checks import location
from .document import FolderSink, IcebergSink, PipelineDocument, SinkSection

SCALA = "2.13"  # of every Spark 4
_CORE = re.compile(r"spark-core_(?P<scala>[\d.]+)-(?P<spark>\d+\.\d+\.\d+)\S*\.jar")
ICEBERG_CATALOG = "org.apache.iceberg.spark.SparkCatalog"


@dataclass(frozen=True)
class SparkBuild:
    """The Spark that a session of this machine gets: its version, and that of Scala in its artifacts."""

    version: str
    scala: str = SCALA

    @property
    def minor(self) -> str:
        """The version that releases of others are made for: `4.2`."""
        return ".".join(self.version.split(".")[:2])


@dataclass(frozen=True)
class TableFormat:
    """A format.

    releases: the artifact for a minor version of Spark, with `{scala}` for the version of Scala
    extension: the class for spark.sql.extensions
    """

    name: str
    title: str
    releases: Mapping[str, str]
    extension: str
    settings: Mapping[str, str]

    def package(self, spark: SparkBuild) -> str | None:
        """Return the artifact for a Spark, `group:name:version`; None if there is none for it."""
        known = self.releases.get(spark.minor)
        if self is DELTA and (own := _delta_of_python()):
            # pip has seen to it that this version is for this Spark.
            known = f"io.delta:delta-spark_{spark.minor}_{{scala}}:{own}"
        return known.format(scala=spark.scala) if known else None

    @property
    def newest(self) -> str:
        """The newest minor version of Spark that has a release."""
        return max(self.releases, key=_number)


DELTA = TableFormat(
    "delta",
    "Delta",
    {
        "4.1": "io.delta:delta-spark_4.1_{scala}:4.2.0",
        "4.2": "io.delta:delta-spark_4.2_{scala}:4.4.0",
    },
    "io.delta.sql.DeltaSparkSessionExtension",
    {"spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog"},
)
ICEBERG = TableFormat(
    "iceberg",
    "Iceberg",
    {
        "4.1": "org.apache.iceberg:iceberg-spark-runtime-4.1_{scala}:1.12.0",
    },
    "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    {},
)
FORMATS = (DELTA, ICEBERG)
EXTENSIONS = "spark.sql.extensions"


def installed() -> SparkBuild | None:
    """Return the Spark of SPARK_HOME, else the one that PySpark brings; None if there is none."""
    folder = home()
    if folder is None:
        return None
    for jar in (folder / "jars").glob("spark-core_*.jar"):
        if found := _CORE.fullmatch(jar.name):
            return SparkBuild(found["spark"], found["scala"])
    try:
        return SparkBuild(metadata.version("pyspark"))
    except metadata.PackageNotFoundError:
        return None


def of_sink(sink: SinkSection) -> TableFormat | None:
    """Return the format of a sink that Spark does not bring itself."""
    if isinstance(sink, IcebergSink):
        return ICEBERG
    return DELTA if isinstance(sink, FolderSink) and sink.format == DELTA.name else None


def used(document: PipelineDocument) -> list[TableFormat]:
    """Return the formats that a document's sources and sinks have."""
    named = {source.format for source in document.sources.values()}
    written = [of_sink(sink) for sink in document.sinks.values()]
    return [each for each in FORMATS if each in written or each.name in named]


def lacking(document: PipelineDocument) -> list[TableFormat]:
    """Return the formats that neither the document nor the installed Spark loads."""
    return [each for each in used(document) if not is_loaded(each, document)]


def is_loaded(wanted: TableFormat, document: PipelineDocument) -> bool:
    """Return whether a format is among what the document, or Spark's own folders, load."""
    spark = document.spark
    told = [str(value) for key, value in spark.conf.items() if "jars" in key or "extraClassPath" in key]
    if any(wanted.name in each for each in (*spark.packages, *spark.jars, *told)):
        return True
    folder = home()
    if folder is None:
        return False
    return any(folder.glob(f"jars/*{wanted.name}*.jar")) or wanted.name in _defaults(folder)


def session_settings(document: PipelineDocument, folder: Path, formats: list[TableFormat]) -> dict[str, str]:
    """Return the settings of formats that a document uses, without their packages.

    They are the extension and the catalog of each, and for an Iceberg sink with a `warehouse` its catalog,
    whose tables are in that folder.
    """
    found = {key: value for each in formats for key, value in each.settings.items()}
    if formats:
        found[EXTENSIONS] = ",".join(each.extension for each in formats)
    for sink in document.sinks.values():
        if isinstance(sink, IcebergSink) and sink.warehouse is not None:
            key = f"spark.sql.catalog.{sink.catalog}"
            found |= {
                key: ICEBERG_CATALOG,
                f"{key}.type": "hadoop",
                f"{key}.warehouse": location(sink.warehouse, folder),
            }
    return found


def unknown_catalogs(document: PipelineDocument) -> Iterator[str]:
    """Yield the names of Iceberg sinks whose catalog nothing that can be seen from here configures."""
    folder = home()
    defaults = _defaults(folder) if folder is not None else ""
    for name, sink in document.sinks.items():
        if isinstance(sink, IcebergSink) and sink.warehouse is None:
            key = f"spark.sql.catalog.{sink.catalog}"
            if key not in document.spark.conf and key not in defaults:
                yield name


def _delta_of_python() -> str | None:
    """Return the version of the Python package of Delta, if that is installed."""
    try:
        return metadata.version("delta-spark")
    except metadata.PackageNotFoundError:
        return None


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2])


def home() -> Path | None:
    """Return the folder of the Spark that will run, None without PySpark."""
    if named := os.environ.get("SPARK_HOME"):
        return Path(named)
    found = importlib.util.find_spec("pyspark")  # to import it takes a second
    return Path(found.origin).parent if found and found.origin else None


def _defaults(home: Path) -> str:
    """Return the text of Spark's file of defaults, empty if there is none."""
    try:
        return Path(os.environ.get("SPARK_CONF_DIR") or home / "conf", "spark-defaults.conf").read_text(
            encoding="utf-8", errors="replace"
        )
    except OSError:
        return ""
