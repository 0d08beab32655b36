"""Reading and writing by Spark's other formats: files, databases, Kafka, tables of a catalog."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ...client import secret
from . import drivers
from .cross_checks import location
from .document import SparkSource
from .section import option_text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Given = Mapping[str, str | int | float | bool]


def read(spark: SparkSession, source: SparkSource, folder: Path, *, stream: bool) -> DataFrame:
    """Return a source as a table, read as a whole or as a stream.

    folder: where a relative path starts

    Raises SecretError for an option that refers to a secret that is not to be had, and what Spark raises.
    """
    reader = spark.readStream if stream else spark.read
    given = texts(source.options)
    if source.format == "jdbc" and (driver := drivers.usual(given.get("url", ""))):
        given.setdefault("driver", driver)
    reader = reader.format(source.format).options(**given)
    if source.shape:
        reader = reader.schema(source.shape)
    if source.table:
        return reader.table(source.table)
    return reader.load(location(source.path, folder)) if source.path else reader.load()


def texts(given: Given) -> dict[str, str]:
    """Return options as Spark takes them; one that is `env://NAME` is the value of that variable."""
    found = {key: option_text(value) for key, value in given.items()}
    return {
        key: secret.resolve(f"option {key}", text) if text.startswith("env://") else text
        for key, text in found.items()
    }
