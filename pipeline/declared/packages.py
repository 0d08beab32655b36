"""The packages that a session fetches from Maven, each in the version for the Spark that is installed.

Kafka, Avro and Protobuf come with each release of Spark, but not with PySpark; for Delta and Iceberg see
`lakehouse`. What a document uses of them is loaded by their Maven coordinates, unless the document, or
Spark's folder of jars, has it already.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from . import lakehouse
from .document import PipelineDocument

ARTIFACTS = {
    "kafka": "spark-sql-kafka-0-10",
    "avro": "spark-avro",
    "protobuf": "spark-protobuf",
}
_UNRESOLVED = re.compile(r"unresolved dependency: ([^\s#]+)#([^\s;]+);([^\s:]+)")
HINT = (
    "spark: {packages: [GROUP:NAME:VERSION]} names another version, jars: [FILE] a file; "
    "spark: {conf: {spark.jars.repositories: URL}} another registry"
)


def wanted(document: PipelineDocument, *, here: bool) -> list[str]:
    """Return the coordinates of what a session loads: the document's, and what it needs besides.

    here: whether the session runs on this machine; a cluster has its own Delta and Iceberg
    """
    listed = list(document.spark.packages)
    home, spark = lakehouse.home(), lakehouse.installed()
    if home is None or spark is None:
        return listed
    there = [*listed, *document.spark.jars, *(str(value) for value in document.spark.conf.values())]
    there += [each.name for each in home.glob("jars/spark-*.jar")]
    for kind in dict.fromkeys(_used(document)):
        name = ARTIFACTS.get(kind)
        if name and not any(name in each for each in there):
            listed.append(f"org.apache.spark:{name}_{spark.scala}:{spark.version}")
    tables = [each.package(spark) for each in lakehouse.lacking(document)] if here else []
    return listed + [each for each in tables if each is not None]


def unresolved(log: Path, said_before: int = 0) -> list[str]:
    """Return the coordinates that Spark's log says no registry has. said_before: bytes that are older."""
    if not log.is_file():
        return []
    said = log.read_bytes()[said_before:].decode("utf-8", "replace")
    return list(dict.fromkeys(":".join(found) for found in _UNRESOLVED.findall(said)))


def _used(document: PipelineDocument) -> Iterator[str]:
    for source in document.sources.values():
        yield source.format
    for sink in document.sinks.values():
        yield str(getattr(sink, "format", ""))
    for table in (*document.sources.values(), *document.transforms.values()):
        if table.decode:
            yield table.decode.format
