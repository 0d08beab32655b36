"""The artifacts and settings of Delta and Iceberg follow from the installed Spark and the document."""

from __future__ import annotations

from pathlib import Path

import pytest
from lib.cli import Cli
from pyjs.documents.problem import DocumentError
from pyjs.pipeline.declared import engine, lakehouse, packages
from pyjs.pipeline.declared.lakehouse import DELTA, ICEBERG, SparkBuild
from pyjs.pipeline.declared.reading import LoadedDocument, parse

HEAD = """\
name: p
trigger: 10s
connection: {servers: "nats://127.0.0.1:9"}
sources: {orders: {stream: ORDERS}}
"""
LAKE = "sinks: {lake: {from: orders, format: iceberg, table: lake.shop.orders, warehouse: house}}\n"
BOTH = LAKE.replace("sinks: {", "sinks: {files: {from: orders, format: delta, path: out}, ")


@pytest.fixture(autouse=True)
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Spark 4.1, without the Python package of Delta."""
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    monkeypatch.setattr(lakehouse, "_delta_of_python", lambda: None)
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "spark-core_2.13-4.1.4.jar").touch()
    return tmp_path


def loaded(text: str) -> LoadedDocument:
    return parse(HEAD + text, Path("/srv/pipelines/p.yaml"))


def packages_of(document: LoadedDocument) -> list[str]:
    return packages.wanted(document.document, here=engine.on_this_machine(document.document))


@pytest.mark.parametrize(
    ("version", "delta", "iceberg"),
    [
        ("4.1.4", "io.delta:delta-spark_4.1_2.13:4.2.0", "iceberg-spark-runtime-4.1_2.13:1.12.0"),
        ("4.2.0", "io.delta:delta-spark_4.2_2.13:4.4.0", None),
        ("4.3.0", None, None),
    ],
)
def test_each_spark_has_its_artifacts(version: str, delta: str | None, iceberg: str | None) -> None:
    one = SparkBuild(version)
    assert DELTA.package(one) == delta
    assert ICEBERG.package(one) == (f"org.apache.iceberg:{iceberg}" if iceberg else None)


def test_the_python_package_of_delta_decides_on_the_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lakehouse, "_delta_of_python", lambda: "4.5.1")
    assert DELTA.package(SparkBuild("4.3.0")) == "io.delta:delta-spark_4.3_2.13:4.5.1"


def test_version_and_scala_are_those_of_sparks_jars(build: Path) -> None:
    assert lakehouse.installed() == SparkBuild("4.1.4", "2.13")
    (build / "jars" / "spark-core_2.13-4.1.4.jar").rename(build / "jars" / "spark-core_3-5.0.0.jar")
    assert lakehouse.installed() == SparkBuild("5.0.0", "3")


def test_a_session_gets_packages_extensions_and_catalogs() -> None:
    document = loaded(BOTH + "spark: {packages: ['a:b:1'], conf: {spark.sql.extensions: other.Extension}}")
    assert engine.problems(document) == []
    found = engine.settings(document.document, document.folder)
    assert found["spark.jars.packages"].split(",") == [
        "a:b:1",
        "io.delta:delta-spark_4.1_2.13:4.2.0",
        "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",
    ]
    assert found["spark.sql.extensions"].split(",") == [DELTA.extension, ICEBERG.extension, "other.Extension"]
    assert found["spark.sql.catalog.spark_catalog"] == "org.apache.spark.sql.delta.catalog.DeltaCatalog"
    assert found["spark.sql.catalog.lake.warehouse"] == "/srv/pipelines/house"


def test_a_package_that_the_document_names_is_taken() -> None:
    named = "spark: {packages: ['org.apache.iceberg:iceberg-spark-runtime-4.2_2.13:9']}"
    document = loaded(LAKE + named)
    assert packages_of(document) == ["org.apache.iceberg:iceberg-spark-runtime-4.2_2.13:9"]
    assert lakehouse.ICEBERG.extension in engine.settings(document.document, document.folder).values()


def test_a_cluster_has_its_own_packages() -> None:
    document = loaded(BOTH + "spark: {master: 'spark://host:7077'}")
    assert packages_of(document) == []
    assert lakehouse.EXTENSIONS not in engine.settings(document.document, document.folder)


def test_a_catalog_that_nothing_configures_is_reported(build: Path) -> None:
    text = LAKE.replace(", warehouse: house", "")
    (problem,) = engine.problems(loaded(text))
    assert (problem.path, problem.line) == ("sinks.lake.table", 5)
    assert "warehouse: FOLDER" in problem.hint
    assert engine.problems(loaded(text + "spark: {conf: {spark.sql.catalog.lake: some.Catalog}}")) == []
    (build / "conf").mkdir()
    (build / "conf" / "spark-defaults.conf").write_text("spark.sql.catalog.lake some.Catalog\n")
    assert engine.problems(loaded(text)) == []


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (", two: {from: orders, format: iceberg, table: lake.shop.orders}", "is that of sinks.lake"),
        (", two: {from: orders, format: iceberg, table: lake.shop.two, warehouse: b}", "a catalog has one"),
        (", two: {from: orders, format: iceberg, table: orders}", "catalog.namespace.name"),
        (", two: {from: orders, format: iceberg, table: lake.a.b, mode: overwrite}", "a stream only appends"),
    ],
)
def test_mistakes_of_tables_are_reported(more: str, said: str) -> None:
    with pytest.raises(DocumentError, match=said):
        loaded(LAKE.replace("house}}", f"house}}{more}}}"))


@pytest.mark.parametrize("form", ["delta", "iceberg"])
def test_init_writes_documents_that_can_be_run(form: str, build: Path, tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    cli = Cli(tmp_path)
    assert cli.run("pipeline", "init", str(file), "--format", form, "--target", "out").code == 0
    done = cli.run("pipeline", "check", str(file), env={"SPARK_HOME": str(build)})
    assert done.code == 0, done.err
