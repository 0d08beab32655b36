"""The parts of Spark that are packages of their own, in the version of the Spark that is installed.

Kafka, Avro and Protobuf come with each release of Spark, but not with PySpark. What a document uses of them
is loaded by their Maven coordinates, unless the document, or Spark's folder of jars, has it already.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from .document import PipelineDocument

ARTIFACTS = {
    "kafka": "spark-sql-kafka-0-10",
    "avro": "spark-avro",
    "protobuf": "spark-protobuf",
}
TAIL = 200_000  # characters of the log that Ivy's words are looked for in
_UNRESOLVED = re.compile(r"unresolved dependency: ([^\s#]+)#([^\s;]+);([^\s:]+)")
HINT = (
    "spark: {packages: [GROUP:NAME:VERSION]} names another version, jars: [FILE] a file; "
    "spark: {conf: {spark.jars.repositories: URL}} another registry"
)


def wanted(document: PipelineDocument) -> list[str]:
    """Return the coordinates of what a session loads: the document's, and what it needs besides."""
    listed = list(document.spark.packages)
    home = _home()
    if home is None:
        return listed
    scala, version = _versions(home)
    there = [*listed, *document.spark.jars, *(str(value) for value in document.spark.conf.values())]
    there += [each.name for each in home.glob("jars/spark-*.jar")]
    for kind in dict.fromkeys(_used(document)):
        name = ARTIFACTS.get(kind)
        if name and not any(name in each for each in there):
            listed.append(f"org.apache.spark:{name}_{scala}:{version}")
    return listed


def unresolved(log: Path | None) -> list[str]:
    """Return the coordinates that Spark's log says no registry has."""
    if log is None or not log.is_file():
        return []
    said = log.read_text(encoding="utf-8", errors="replace")[-TAIL:]
    return list(dict.fromkeys(":".join(found) for found in _UNRESOLVED.findall(said)))


def _used(document: PipelineDocument) -> Iterator[str]:
    for source in document.sources.values():
        yield source.format
    for sink in document.sinks.values():
        yield str(getattr(sink, "format", ""))
    for table in (*document.sources.values(), *document.transforms.values()):
        if table.decode:
            yield table.decode.format


def _home() -> Path | None:
    """Return the folder of the Spark that will run, None without PySpark."""
    if found := os.environ.get("SPARK_HOME"):
        return Path(found)
    try:
        import pyspark
    except ImportError:
        return None
    return Path(pyspark.__file__).parent


def _versions(home: Path) -> tuple[str, str]:
    """Return Scala's and Spark's version of an installed Spark, by the names of its jars."""
    for jar in home.glob("jars/spark-core_*.jar"):
        found = re.fullmatch(r"spark-core_([\d.]+)-(.+)\.jar", jar.name)
        if found:
            return found.group(1), found.group(2)
    import pyspark

    return "2.13", pyspark.__version__
