"""A pipeline into Delta and Iceberg tables that is killed, with its Java, goes on and has each row once.

The jars come from Maven, for the Spark that is used: the installed one, or, if that has no release of either
format, one that `make sparks` has put beside it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from lib.eventually import eventually
from lib.jetstream import ALONE, JetStream
from lib.process import ServerProcess
from lib.source_facts import ROOT
from lib.spark_settings import JAVA_OPTIONS
from pyjs.pipeline.declared import lakehouse
from pyjs.pipeline.declared.lakehouse import SparkBuild, TableFormat

SECONDS = 450.0  # a machine that is busy with other tests needs minutes
ONCE = 40  # messages of a share
SINKS = {
    "delta": "{from: messages, format: delta, path: delta}",
    "iceberg": (
        "{from: messages, format: iceberg, table: lake.shop.orders, warehouse: house, partitionBy: [subject]}"
    ),
}
TEXT = """\
name: lake
trigger: 0s
checkpoint: state
connection: {servers: "SERVER"}
sources: {messages: {stream: NAME, startingOffsets: earliest, maxOffsetsPerTrigger: 20}}
spark:
  master: "local[2]"
  packages: ["io.openlineage:openlineage-spark_2.13:1.37.0"]
  conf:
    spark.driver.memory: 1g
    spark.sql.shuffle.partitions: 1
    spark.extraListeners: io.openlineage.spark.agent.OpenLineageSparkListener
    spark.openlineage.namespace: shop
    spark.openlineage.transport.type: file
    spark.openlineage.transport.location: FOLDER/lineage.jsonl
sinks:
"""


@pytest.fixture(scope="module")
def build(request: pytest.FixtureRequest) -> tuple[dict[str, str], list[TableFormat]]:
    """A Spark that a format has a release for: the variables to run it, and its formats."""
    request.getfixturevalue("needs_java")
    builds: list[tuple[dict[str, str], SparkBuild | None]] = [({}, lakehouse.installed())]
    for folder in sorted((ROOT / ".venv").glob("spark-4.*")):
        version = SparkBuild(folder.name.removeprefix("spark-"))
        builds.append(({"PYTHONPATH": str(folder), "SPARK_HOME": str(folder / "pyspark")}, version))
    for variables, spark in builds:
        formats = [each for each in lakehouse.FORMATS if spark and each.package(spark)]
        if formats:
            return variables, formats
    pytest.skip("no format has a release for the installed Spark; `make sparks` tests with older ones")


def children(pid: int) -> list[int]:
    """The processes that a process has started."""
    listed = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False
    )
    return [int(each) for each in listed.stdout.split()]


@contextmanager
def started(folder: Path, variables: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """`pyjs pipeline run`, which ends with the block, as do the processes that it has started."""
    with (
        (folder / "errors.log").open("ab") as errors,
        subprocess.Popen(
            [sys.executable, "-m", "pyjs", "pipeline", "run", "--json", "p.yaml"],
            cwd=folder,
            env=environment(folder, variables),
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process,
    ):
        try:
            yield process
        finally:
            for pid in [*children(process.pid), process.pid]:  # Java first: it would end in good order
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


def environment(folder: Path, variables: dict[str, str]) -> dict[str, str]:
    """The variables of a process with the tests' modules, that keeps its records in `folder`."""
    path = os.pathsep.join(filter(None, (variables.get("PYTHONPATH"), str(ROOT / "tests"))))
    own = {"XDG_STATE_HOME": str(folder / ".state"), "JDK_JAVA_OPTIONS": JAVA_OPTIONS}
    return {**os.environ, **own, **variables, "PYTHONPATH": path}


def event(process: subprocess.Popen[str], folder: Path) -> dict[str, object]:
    """The next event of a run; a package that Maven does not have skips the test."""
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, (folder / "errors.log").read_text()
    said: dict[str, object] = json.loads(line)
    if "Maven has no package" in str(said.get("error")):
        pytest.skip(str(said["error"]))
    assert said["event"] != "ended", said
    return said


@pytest.mark.timeout(600)
@pytest.mark.parametrize("implementation", ["pyjs"])
def test_each_row_is_in_the_tables_once(
    serve: Callable[[str], ServerProcess],
    build: tuple[dict[str, str], list[TableFormat]],
    unique: str,
    tmp_path: Path,
) -> None:
    variables, formats = build
    server = serve(ALONE)
    text = TEXT.replace("SERVER", server.url).replace("NAME", unique).replace("FOLDER", str(tmp_path))
    (tmp_path / "p.yaml").write_text(text + "".join(f"  {f.name}: {SINKS[f.name]}\n" for f in formats))
    with JetStream.of(server) as js:
        js.create(unique, subjects=[f"{unique}.*"])
        js.fill(f"{unique}.a", ONCE)
        with started(tmp_path, variables) as process:
            seen: set[object] = set()
            while seen < {each.name for each in formats}:
                said = event(process, tmp_path)
                seen |= {said["sink"]} if said["event"] == "batch" else set()
            js.fill(f"{unique}.b", ONCE)
            offsets = tmp_path / "state" / formats[-1].name / "offsets"
            eventually(lambda: len([each for each in offsets.iterdir() if each.name.isdigit()]) > 1, SECONDS)
        js.fill(f"{unique}.c", ONCE)
    done = subprocess.run(
        [sys.executable, "-m", "lib.lakehouse_run", "p.yaml", str(tmp_path / "state"), "java.log"],
        cwd=tmp_path,
        env=environment(tmp_path, variables),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout.splitlines()[-1])
    assert said.get("state") == "finished", said
    expected = list(range(1, 3 * ONCE + 1))
    assert said["rows"] == {each.name: expected for each in formats}
    with (tmp_path / "lineage.jsonl").open(encoding="utf-8") as lines:
        events = [json.loads(line) for line in lines]
    assert {each["job"]["namespace"] for each in events} == {"shop"}
    assert {"START", "COMPLETE"} <= {each["eventType"] for each in events}
