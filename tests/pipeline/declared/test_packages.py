"""Packages that a document needs besides its own, in the version of Spark, and those that are missing."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyjs.pipeline.declared import packages
from pyjs.pipeline.declared.reading import parse

TEXT = """
name: p
connection: {servers: s}
sources:
  orders: {stream: ORDERS, decode: {format: avro, schema: a.avsc}}
  clicks: {format: kafka, options: {subscribe: clicks}}
sinks:
  lake: {from: orders, format: avro, path: out}
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "spark-core_2.13-4.9.1.jar").touch()
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    return tmp_path


def wanted(text: str) -> list[str]:
    return packages.wanted(parse(text, Path("p.yaml")).document, here=True)


def test_what_is_used_comes_in_the_version_of_spark(home: Path) -> None:
    kafka = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.9.1"
    assert wanted(TEXT) == [kafka, "org.apache.spark:spark-avro_2.13:4.9.1"]
    own = "org.apache.spark:spark-avro_2.13:4.0.0"
    assert wanted(TEXT + f"spark: {{packages: ['{own}']}}\n") == [own, kafka]
    assert wanted(TEXT + "spark: {jars: [x/spark-avro_2.13-4.9.1.jar, y]}\n") == [kafka]
    (home / "jars" / "spark-sql-kafka-0-10_2.13-4.9.1.jar").touch()
    assert wanted(TEXT) == ["org.apache.spark:spark-avro_2.13:4.9.1"]


LOG = """
:: problems summary ::
:::: WARNINGS
		::::::::::::::::::::::::::::::::::::::::::::::
		:: org.apache.spark#spark-avro_2.13;4.9.1: not found
		::::::::::::::::::::::::::::::::::::::::::::::
java.lang.RuntimeException: [unresolved dependency: org.apache.spark#spark-avro_2.13;4.9.1: not found]
"""


def test_what_no_registry_has_is_found_in_the_log(tmp_path: Path) -> None:
    (tmp_path / "spark.log").write_text(LOG)
    assert packages.unresolved(tmp_path / "spark.log") == ["org.apache.spark:spark-avro_2.13:4.9.1"]
    assert packages.unresolved(tmp_path / "no.log") == []
