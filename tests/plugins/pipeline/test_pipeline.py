"""`pyjs pipeline` without Spark: documents validated and written, runs listed, shown and drawn."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from lib.cli import Cli
from pyjs.pipeline.declared import record
from pyjs.pipeline.declared.progress import Batch

TEXT = """\
name: p
sources:
  orders: {stream: NAME}
sinks:
  lake: {from: orders, format: parquet, path: out}
"""


@pytest.fixture
def alone(tmp_path: Path) -> Cli:
    """`pyjs` where no server is."""
    return Cli(tmp_path)


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two runs of `orders`, the first one failed, the second crashed; one of `other`."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / ".local" / "state"))
    for name, day, outcome in (
        ("orders", 1, {"state": "failed", "time": "2026-11-01T08:01:00Z", "error": "it <broke>"}),
        ("orders", 3, {}),
        ("other", 2, {"state": "finished", "time": "2026-11-02T08:01:00Z"}),
    ):
        facts: Mapping[str, Any] = {"started": f"2026-11-0{day}T08:00:00.000Z", "on": "local[*]", "runs": "x"}
        with record.record(name, facts, "name: p") as run:
            run.batch(Batch("lake", 0, f"2026-11-0{day}T08:00:30.000Z", 1000, 900, 7, 2.0))
            if outcome:
                run.end(outcome)


def test_a_document_is_validated_and_its_plan_shown(alone: Cli, tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(TEXT)
    out = alone.ok("pipeline", "check", "p.yaml")
    assert "│ source │ orders │ stream NAME │ -      │" in out
    assert "p.yaml is a valid pipeline" in out
    found = json.loads(alone.ok("pipeline", "check", "p.yaml", "--json", "--trigger", "10s"))
    assert (found["valid"], found["trigger"], found["steps"][1]["reads"]) == (True, "10s", ["orders"])


def test_what_nothing_reads_is_warned_of(alone: Cli, tmp_path: Path) -> None:
    query = "transforms:\n  few: {sql: SELECT * FROM oders}\n"
    (tmp_path / "p.yaml").write_text(
        TEXT.replace("sinks:", f"{query}sinks:").replace("from: orders", "from: few")
    )
    result = alone.run("pipeline", "check", "p.yaml", "--no-sql")
    assert result.code == 0
    assert "pyjs: warning: nothing reads source orders" in result.err


def test_mistakes_are_reported_with_their_places(alone: Cli, tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(
        TEXT.replace("format: parquet", "fromat: parquet").replace("name", "nam")
    )
    result = alone.run("pipeline", "check", "p.yaml")
    assert result.code == 1
    assert result.out == ""
    assert result.err.splitlines() == [
        "p.yaml:1:1: name: is missing",
        "p.yaml:1:1: nam: unknown key (did you mean name?)",
        "p.yaml:5:3: sinks.lake: has no format "
        "(format is one of parquet, json, csv, orc, avro, text, xml, delta, jdbc, console, jetstream, kafka, "
        "iceberg, or another one of Spark's)",
        "pyjs: error: 3 mistakes: nothing was run",
    ]
    assert alone.run("pipeline", "run", "p.yaml").err == result.err
    found = json.loads(alone.run("pipeline", "check", "p.yaml", "--json").out)
    assert [(each["line"], each["path"]) for each in found["problems"]] == [
        (1, "name"),
        (1, "nam"),
        (5, "sinks.lake"),
    ]


def test_what_is_no_file_or_no_yaml_is_reported(alone: Cli, tmp_path: Path) -> None:
    assert "there is no x.yaml\nhint: 'pyjs pipeline init'" in alone.run("pipeline", "run", "x.yaml").err
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe")
    assert "bytes.yaml: is not UTF-8 text" in alone.run("pipeline", "check", "bytes.yaml").err
    (tmp_path / "tabs.yaml").write_text("name:\n\tx: 1\n")
    assert "tabs.yaml:2:1: not YAML" in alone.run("pipeline", "check", "tabs.yaml").err


def test_sql_is_parsed_where_java_is_there(alone: Cli, tmp_path: Path, needs_java: None) -> None:
    query = "transforms:\n  few: {sql: SELECT * FORM orders}\n"
    (tmp_path / "p.yaml").write_text(TEXT.replace("sinks:", f"{query}sinks:"))
    result = alone.run("pipeline", "check", "p.yaml")
    assert result.code == 1
    assert "p.yaml:5:9: transforms.few.sql: [PARSE_SYNTAX_ERROR] Syntax error at or near " in result.err
    away = alone.process("pipeline", "check", "p.yaml", env={"PATH": str(tmp_path), "JAVA_HOME": ""})
    assert away.code == 0
    assert "pyjs: warning: the SQL was not parsed: Spark needs Java 17 or newer" in away.err


def test_variables_are_given_on_the_line(alone: Cli, tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(TEXT.replace("NAME", '"${STREAM}"'))
    found = json.loads(alone.ok("pipeline", "check", "p.yaml", "--json", "--set", "STREAM=AB"))
    assert found["steps"][0]["what"] == "stream AB"
    refused = alone.run("pipeline", "check", "p.yaml")
    assert (
        "sources.orders.stream: the variable STREAM has no value\nhint: --set STREAM=VALUE, " in refused.err
    )
    assert alone.run("pipeline", "run", "p.yaml", "--set", "STREAM").code == 2


def test_server_and_streams_are_looked_for(cli: Cli, tmp_path: Path, unique: str) -> None:
    cli.ok("stream", "add", unique, "--subjects", f"{unique}.>", "--defaults")
    cli.ok("publish", f"{unique}.a", "x")
    text = TEXT + "  back: {from: orders, format: jetstream, subject: NAME.b}\n"
    (tmp_path / "p.yaml").write_text(text.replace("NAME", unique))
    found = json.loads(cli.ok("pipeline", "check", "p.yaml", "--connect", "--json"))["streams"]
    assert [(each["path"], each["stream"], each["messages"], each["error"]) for each in found] == [
        ("sources.orders", unique, 1, ""),
        ("sinks.back", unique, 1, ""),
    ]
    (tmp_path / "p.yaml").write_text(TEXT)
    result = cli.run("pipeline", "check", "p.yaml", "--connect")
    assert (result.code, "sources.orders: stream NAME not found" in result.err) == (1, True)
    away = cli.with_flags("--server", "nats://127.0.0.1:1").run("pipeline", "check", "p.yaml", "--connect")
    assert (away.code, "127.0.0.1:1" in away.err) == (1, True)


def test_init_without_a_terminal_takes_defaults_and_replaces_nothing(alone: Cli, tmp_path: Path) -> None:
    alone.ok("pipeline", "init", "jobs/orders.yaml")
    written = tmp_path / "jobs" / "orders.yaml"
    assert "name: orders\n" in written.read_text()
    assert alone.run("pipeline", "init", "jobs/orders.yaml").code == 1
    alone.ok("pipeline", "init", "jobs/orders.yaml", "--name", "daily", "--stream", "DAYS", "--force")
    assert "stream: DAYS\n" in written.read_text()
    refused = alone.run("pipeline", "init", "b.yaml", "--stream", "a b")
    assert (refused.code, "sources.messages.stream" in refused.err) == (1, True)
    assert not (tmp_path / "b.yaml").exists()


@pytest.mark.parametrize("kind", ["parquet", "json", "csv", "delta", "iceberg", "console", "jetstream"])
@pytest.mark.parametrize("trigger", ["availableNow", "10s", "batch"])
def test_every_document_of_init_is_valid_also_with_its_comments_in(
    kind: str, trigger: str, alone: Cli, tmp_path: Path
) -> None:
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "spark-core_2.13-4.1.4.jar").touch()
    spark = {"SPARK_HOME": str(tmp_path)}  # one that each format has a release for
    alone.ok("pipeline", "init", "p.yaml", "--format", kind, "--trigger", trigger)
    alone.ok("pipeline", "check", "p.yaml", "--no-sql", env=spark)
    lines = (tmp_path / "p.yaml").read_text().splitlines()
    commented = [
        line.replace("# ", "", 1) if line.startswith("  ") and "# " in line.lstrip()[:2] else line
        for line in lines
    ]
    assert commented != lines
    (tmp_path / "transforms.py").write_text("def clean(texts): return texts\n")
    (tmp_path / "p.yaml").write_text("\n".join(commented))
    alone.ok("pipeline", "check", "p.yaml", "--no-sql", env=spark)


def test_init_asks_on_a_terminal(alone: Cli, tmp_path: Path) -> None:
    with alone.terminal(["pipeline", "init"]) as terminal:
        for question, answer in (
            ("Pipeline name", "hourly"),
            ("Stream to read", ""),
            ("Subjects to read", "orders.>"),
            ("Write rows to", "Another stream"),
            ("Subject to write to", "stats.x"),
            ("Run", ""),
        ):
            terminal.answer(question, answer)
        assert terminal.finish() == 0
    text = (tmp_path / "pipeline.yaml").read_text()
    assert "name: hourly" in text
    assert 'subjects: "orders.>"' in text
    assert "subject: stats.x" in text


@pytest.mark.usefixtures("recorded")
def test_runs_are_listed_and_shown(alone: Cli) -> None:
    out = alone.ok("pipeline", "ls")
    assert [line.split("│")[1:4] for line in out.splitlines() if "202" in line] == [
        [" orders   ", " crashed  ", " 2    "],
        [" other    ", " finished ", " 1    "],
    ]
    assert alone.ok("pipeline", "ls", "orders", "--names").split() == ["orders.2", "orders.1"]
    page = alone.ok("pipeline", "status", "orders.1")
    assert "State: failed" in page
    assert "Error: it <broke>" in page
    newest = json.loads(alone.ok("pipeline", "status", "--json"))
    assert (newest["run"], newest["state"], newest["rows_in"], newest["lag"]) == (
        "orders.2",
        "crashed",
        1000,
        7,
    )


@pytest.mark.usefixtures("recorded")
def test_unknown_runs_are_reported_with_the_nearest(alone: Cli) -> None:
    assert 'unknown pipeline "ordrs"\nhint: did you mean orders?' in alone.run("pipeline", "ls", "ordrs").err
    assert "hint: the newest of orders is orders.2" in alone.run("pipeline", "status", "orders.9").err
    assert 'unknown pipeline "x/../y"' in alone.run("pipeline", "status", "x/../y").err


@pytest.mark.usefixtures("recorded")
def test_a_run_is_drawn_into_one_file(alone: Cli, tmp_path: Path) -> None:
    alone.ok("pipeline", "report", "orders.1", "--html", "r.html")
    assert "it &lt;broke&gt;" in (tmp_path / "r.html").read_text()
    alone.ok("pipeline", "report")
    assert (tmp_path / "orders.2.html").exists()
    assert alone.run("pipeline", "report", "--html", "none/r.html").code == 1


def test_nothing_was_run(alone: Cli) -> None:
    assert alone.ok("pipeline", "ls") == "No pipelines were run here\n"
    assert json.loads(alone.ok("pipeline", "ls", "--json")) == []
    assert "no pipeline was run here" in alone.run("pipeline", "status").err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--master", "local", "--remote", "sc://h"], "--master and --remote exclude each other"),
        (["--remote", "http://h"], "is no URL of Spark Connect"),
        (["--master", "spark://h:7077"], "checkpoint is missing: on spark://h:7077"),
        (["--trigger", "soon"], '"soon" is no span of time'),
        (["--from", "2026-11-22"], "--from and --to go together"),
        (["--from", "2026-11-22", "--to", "2026-11-21"], "2026-11-22 is not before 2026-11-21"),
    ],
)
def test_flags_of_run_are_validated_before_anything_starts(
    words: list[str], said: str, alone: Cli, tmp_path: Path
) -> None:
    (tmp_path / "p.yaml").write_text(TEXT)
    result = alone.run("pipeline", "run", "p.yaml", *words)
    assert (result.code, said in result.err) == (2, True)
    assert alone.ok("pipeline", "ls") == "No pipelines were run here\n"


def test_without_java_a_run_says_how_to_install_it(alone: Cli, tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(TEXT)
    result = alone.process("pipeline", "run", "p.yaml", env={"PATH": str(tmp_path), "JAVA_HOME": ""})
    assert result.code == 1
    assert "Spark needs Java 17 or newer, and there is none. Install it: " in result.err
    assert "spark.log" not in result.err  # Spark said nothing
    page = alone.ok("pipeline", "status")
    assert "State: failed" in page
    assert "Error: Spark needs Java" in page


def test_without_the_packages_a_command_says_how_to_install_them(
    alone: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "p.yaml").write_text(TEXT)
    (tmp_path / "yaml.py").write_text("raise ImportError('gone', name='yaml')")
    for words in (["check", "p.yaml"], ["run", "p.yaml"]):
        result = alone.process("pipeline", *words, env={"PYTHONPATH": str(tmp_path)})
        assert result.code == 1
        assert result.err.endswith(
            "pyjs: error: pipelines need packages that are not installed (yaml)\n"
            "hint: pip install 'pyjs[spark]'\n"
        )
