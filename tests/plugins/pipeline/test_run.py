"""`pyjs pipeline run` for real: its JSON lines, Ctrl-C, what it leaves behind, and continuing from there."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lib.cli import PYJS, Cli
from lib.eventually import eventually
from lib.jetstream import ALONE, JetStream
from lib.leftovers import at_work_in
from lib.process import ServerProcess
from lib.spark_settings import JAVA_OPTIONS, LIMITED

TEXT = f"""\
name: p
trigger: 0s
sources:
  orders: {{stream: NAME, startingOffsets: earliest, maxOffsetsPerTrigger: 5}}
sinks:
  lake: {{from: orders, format: parquet, path: out}}
spark:
  conf: {{spark.driver.memory: 1g, spark.driver.extraJavaOptions: "{JAVA_OPTIONS}"}}
"""


def seen_from_outside(url: str, sources: list[dict[str, Any]], stream: str) -> None:
    """The metrics of the running pipeline, and the sources of its status."""
    with urllib.request.urlopen(url, timeout=30) as page:
        metrics = page.read().decode()
    of = f'pipeline="p",sink="lake",source="orders",stream="{stream}",domain=""'
    assert f"pyjs_pipeline_source_last_sequence{{{of}}} 200\n" in metrics
    assert re.search(r'pyjs_pipeline_rows_read_total{pipeline="p",sink="lake"} \d+\n', metrics)
    (source,) = sources
    assert (source["sink"], source["source"], source["stream"]) == ("lake", "orders", stream)
    assert source["next"] + source["behind"] == 201


def stages_are_shown(events: list[dict[str, Any]]) -> None:
    """The stages between the start and the first batch, and what comes then."""
    stages = [each["stage"] for each in events if each["event"] == "stage"]
    assert re.match(r"starting Spark \d\.\d\.\d on Java \d\d$", stages[0])
    assert stages[1:] == ["planning: looking at the streams", "in the first batch"]
    others = [each["event"] for each in events if each["event"] not in {"batch", "stage"}]
    assert others == ["started", "stopping", "ended"]


@pytest.mark.skipif(not LIMITED, reason="Spark 4.1 tells a Python source no limits per trigger")
@pytest.mark.usefixtures("needs_java", "quick_python")
@pytest.mark.parametrize("implementation", ["pyjs"])
def test_ctrl_c_stops_after_the_batch_and_the_run_is_on_record(
    serve: Callable[[str], ServerProcess], unique: str, tmp_path: Path
) -> None:
    server = serve(ALONE)
    with JetStream.of(server) as js:
        js.create(unique, subjects=[unique], allow_direct=True)
        js.fill(unique, 200)
    home, temporary = tmp_path / "home", tmp_path / "tmp"
    home.mkdir()
    temporary.mkdir()
    (home / "p.yaml").write_text(TEXT.replace("NAME", unique))
    cli = Cli(home, "--server", server.url)
    with subprocess.Popen(
        [*PYJS, *cli.flags, "pipeline", "run", "p.yaml", "--json", "--metrics", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=cli.environment({"TMPDIR": str(temporary)}),
        cwd=home,
        start_new_session=True,
    ) as child:
        assert child.stdout is not None
        events: list[dict[str, Any]] = []
        for line in child.stdout:
            events.append(json.loads(line))
            if events[-1]["event"] == "batch" and events[-1]["batch"] == 1:
                assert [path.name[:11] for path in temporary.iterdir()] == ["pyjs-spark-"]
                assert len(at_work_in(tmp_path)) > 1  # Java is there, too
                status = json.loads(cli.ok("pipeline", "status", "p", "--json"))
                assert (status["state"], status["pid"]) == ("running", child.pid)
                seen_from_outside(events[0]["metrics"], status["sources"], unique)
                assert "runs already, as p.1" in cli.run("pipeline", "run", "p.yaml").err
                os.killpg(child.pid, signal.SIGINT)  # as a terminal does: to Spark's Java as well
        errors = child.stderr.read() if child.stderr else ""
    assert (child.returncode, errors) == (0, "")
    assert list(temporary.iterdir()) == []
    eventually(lambda: at_work_in(tmp_path) == [])
    stages_are_shown(events)
    batches = [each for each in events if each["event"] == "batch"]
    assert [each["batch"] for each in batches] == list(range(len(batches)))
    assert {(each["run"], each["rows_in"], each["rows_out"]) for each in batches} == {("p.1", 5, 5)}
    assert [each["lag"] for each in batches] == [195 - 5 * number for number in range(len(batches))]
    ended = events[-1]
    assert (ended["state"], ended["rows_in"], ended["error"]) == ("stopped", 5 * len(batches), "")
    checkpoint = Path(events[0]["checkpoint"], "lake")
    assert {int(each.name) for each in (checkpoint / "commits").glob("[0-9]*")} == set(range(len(batches)))
    found = json.loads(cli.ok("pipeline", "status", "p.1", "--json"))
    assert (found["state"], found["batches"]) == ("stopped", len(batches))
    (source,) = json.loads(cli.ok("pipeline", "lag", "p", "--json"))
    left = 200 - 5 * len(batches)
    assert (source["next"], source["last"], source["behind"]) == (201 - left, 200, left)
    cli.ok("pipeline", "report", "p.1")
    assert "<svg" in (home / "p.1.html").read_text()
