"""The schedules call pyjs with what it understands. Airflow and Dagster are asked where they are installed;
where they are not, their files are run with stand-ins that only note what they are given.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import types
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar

import pytest

HERE = Path(__file__).resolve().parent
DAY = ["--from", "2026-11-22", "--to", "2026-11-23"]
RUN = ["pipeline", "run", str(HERE / "orders.yaml")]


@pytest.fixture
def noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with the arguments of each call of a `pyjs` that only notes them."""
    calls = tmp_path / "calls"
    program = tmp_path / "bin" / "pyjs"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$@" >> {calls}\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    return calls


def accepted(arguments: list[str], tmp_path: Path) -> None:
    """Run pyjs itself without Java: it takes the arguments and the document, and then lacks Java."""
    command = [sys.executable, "-m", "pyjs", *arguments]
    nothing = tmp_path / "nothing"
    nothing.mkdir(exist_ok=True)
    environment = {**os.environ, "PATH": str(nothing), "JAVA_HOME": "", "XDG_STATE_HOME": str(tmp_path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert "Spark needs Java" in done.stderr


def test_cron_runs_what_is_new_and_the_day_before(noted: Path, tmp_path: Path) -> None:
    table = (HERE / "crontab").read_text("utf-8").replace("/srv/pipelines", str(HERE))
    lines = [line for line in table.splitlines() if line and not line.startswith("#")]
    settings = dict(line.split("=", 1) for line in lines if "=" in line.split()[0])
    for line in lines:
        if "=" not in line.split()[0]:
            command = line.split(None, 5)[5].replace("\\%", "%")
            environment = {**os.environ, **settings, "PATH": os.environ["PATH"]}
            command = re.sub(r">>\S+", ">/dev/null", command)
            subprocess.run(["/bin/sh", "-c", command], env=environment, check=True)
    first, second = (line.split() for line in noted.read_text().splitlines())
    today = datetime.now(UTC).date()
    assert first == RUN
    assert second == [*RUN, "--from", str(today - timedelta(days=1)), "--to", str(today)]
    accepted(first, tmp_path)
    accepted(second, tmp_path)


def stand_ins(monkeypatch: pytest.MonkeyPatch, **modules: dict[str, Any]) -> None:
    for name, members in modules.items():
        module = types.ModuleType(name)
        vars(module).update(members)
        monkeypatch.setitem(sys.modules, name.replace("__", "."), module)


def loaded(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Noting:
    """Takes what it is made with, and is a context manager and a decorator."""

    made: ClassVar[list[Noting]] = []

    def __init__(self, *words: Any, **given: Any) -> None:
        self.words, self.given = words, given
        Noting.made.append(self)

    def __enter__(self) -> Noting:
        return self

    def __exit__(self, *_: object) -> None: ...

    def __call__(self, function: Any) -> Any:
        return function


def test_airflow_runs_each_interval(noted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if importlib.util.find_spec("airflow") is None:
        Noting.made = []
        stand_ins(
            monkeypatch,
            airflow__sdk={"DAG": Noting},
            airflow__providers__standard__operators__bash={"BashOperator": Noting},
            airflow__timetables__interval={"CronDataIntervalTimetable": Noting},
        )
        loaded("airflow_dag")
        command = Noting.made[-1].given["bash_command"]
    else:
        monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path / "airflow"))
        dag = next(each for each in vars(loaded("airflow_dag")).values() if type(each).__name__ == "DAG")
        command = dag.get_task("run").bash_command
    command = command.replace("{{ data_interval_start | ds }}", DAY[1])
    command = command.replace("{{ data_interval_end | ds }}", DAY[3])
    subprocess.run(["/bin/sh", "-c", command], check=True)
    assert noted.read_text().split() == [*RUN, *DAY]
    accepted([*RUN, *DAY], tmp_path)


def test_dagster_runs_each_partition(noted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if importlib.util.find_spec("dagster") is None:
        names = (
            "AssetExecutionContext DailyPartitionsDefinition Definitions RetryPolicy asset "
            "build_schedule_from_partitioned_job define_asset_job"
        )
        stand_ins(monkeypatch, dagster=dict.fromkeys(names.split(), Noting))
        start = datetime(2026, 11, 22, tzinfo=UTC)
        day = types.SimpleNamespace(start=start, end=start + timedelta(days=1))
        loaded("dagster_defs").orders(types.SimpleNamespace(partition_time_window=day))
    else:
        import dagster

        module = loaded("dagster_defs")
        assert dagster.materialize([module.orders], partition_key="2026-11-22").success
        assert module.defs.get_repository_def().schedule_defs
    assert noted.read_text().split() == [*RUN, *DAY]
