"""Requirements that a document's session cannot meet are reported before anything starts, without Spark."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from lib.cli import Cli
from pyjs.pipeline.declared import engine
from pyjs.pipeline.declared.reading import LoadedDocument, parse
from pyjs.pipeline.session import SparkError

TEXT = """\
name: p
trigger: TRIGGER
connection: {servers: "nats://127.0.0.1:9"}
sources: {orders: {stream: ORDERS}}
sinks:
  lake: {from: orders, format: delta, path: lake}
  screen: {from: orders, format: console}
spark: {SPARK}
"""


def loaded(spark: str = "", trigger: str = "batch") -> LoadedDocument:
    return parse(TEXT.replace("SPARK", spark).replace("TRIGGER", trigger), Path("p.yaml"))


@pytest.fixture(autouse=True)
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Spark that Delta has no release for, without other jars than its own."""
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "spark-core_2.13-9.9.1.jar").touch()
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)


def test_delta_without_a_release_for_this_spark_is_reported_with_what_to_do() -> None:
    (problem,) = engine.problems(loaded())
    assert (problem.path, problem.line, problem.column) == ("sinks.lake.format", 6, 24)
    assert "Delta has no release for Spark 9.9.1" in problem.message
    assert "pip install 'pyjs[spark,delta]'" in problem.hint


@pytest.mark.parametrize(
    "spark",
    [
        "packages: ['io.delta:delta-spark_2.13:4.0.0']",
        "jars: [lib/delta-spark.jar]",
        "conf: {spark.jars.packages: 'io.delta:delta-spark_2.13:4.0.0'}",
        "master: 'spark://host:7077'",
        "remote: 'sc://host'",
    ],
)
def test_delta_that_is_loaded_or_on_a_cluster_is_right(spark: str) -> None:
    assert engine.problems(loaded(spark)) == []


def test_delta_of_sparks_own_folders_counts(tmp_path: Path) -> None:
    (tmp_path / "jars" / "delta-spark_2.13.jar").touch()
    assert engine.problems(loaded()) == []


@pytest.mark.parametrize("command", ["check", "run"])
def test_nothing_starts_without_a_release_of_delta(command: str, tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(TEXT.replace("SPARK", "").replace("TRIGGER", "batch"))
    here = {"SPARK_HOME": str(tmp_path)}
    done = Cli(tmp_path).run("pipeline", command, str(tmp_path / "p.yaml"), env=here)
    assert done.code == 1
    assert "p.yaml:6:24: sinks.lake.format: Delta has no release for Spark 9.9.1" in done.err
    assert "packages" in done.err
    assert "started" not in done.out


def test_the_console_of_a_stream_is_refused_with_connect() -> None:
    (problem,) = engine.problems(loaded("remote: 'sc://host'", trigger="10s"))
    assert (problem.path, problem.line) == ("sinks.screen.format", 7)


def test_a_place_shows_no_token() -> None:
    assert engine.place(loaded("remote: 'sc://host/;token=s3cret'").document) == "sc://host/;token=********"


def test_a_session_that_nobody_serves_gets_an_error_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    document = loaded(f"remote: 'sc://127.0.0.1:{port}/;token=s3cret'")
    said = rf"^no session at sc://127.0.0.1:{port}/;token=\*+: .*refused"
    with pytest.raises(SparkError, match=said), engine.opened(document, None):
        pass
