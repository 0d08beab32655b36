"""Runs leave folders that describe what they did: while they run, when they end, and when they are killed."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from pyjs.pipeline.declared import record
from pyjs.pipeline.declared.progress import Batch

BATCH = Batch("lake", 0, "2026-11-22T08:00:00.000Z", 10, 9, 0, 0.5)
FACTS = {"started": "2026-11-22T08:00:00.000Z"}

KILLED = """
import sys
from pyjs.pipeline.declared import record
from pyjs.pipeline.declared.progress import Batch
with record.record("orders", {"started": "now"}, "name: orders") as run:
    run.batch(Batch("lake", 0, "t", 1, 1, 0, 1.0))
    (run.folder / "progress.jsonl").open("a").write('{"sink": "la')
    print("ready", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "pyjs" / "pipelines"


def test_nothing_was_run() -> None:
    assert record.pipelines() == []
    assert record.find("") is None
    assert record.find("orders") is record.find("orders.1") is record.find("../x.1") is None


def test_a_run_is_seen_while_it_runs_and_when_it_has_ended(home: Path) -> None:
    with record.record("orders", FACTS, "name: orders") as run:
        run.batch(BATCH)
        seen = record.find("orders")
        assert seen is not None
        assert (seen.id, seen.state, seen.batches()) == ("orders.1", "running", [BATCH])
        run.end({"state": "finished", "time": "t"})
    ended = record.find("orders.1")
    assert ended is not None
    assert (ended.state, ended.outcome["time"], ended.document()) == ("finished", "t", "name: orders")
    assert record.pipelines() == ["orders"]
    assert (home / "orders").stat().st_mode & 0o077 == 0


def test_a_killed_run_has_crashed_and_the_next_one_runs(home: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", KILLED], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        with (
            pytest.raises(record.BusyError, match=r"runs already, as orders\.1"),
            record.record("orders", FACTS, ""),
        ):
            pass
        child.send_signal(signal.SIGKILL)
    crashed = record.find("orders")
    assert crashed is not None
    assert crashed.state == "crashed"
    assert [batch.batch for batch in crashed.batches()] == [0]  # not the line that was cut off
    with record.record("orders", FACTS, ""):
        assert [(run.id, run.state) for run in record.runs("orders")] == [
            ("orders.2", "running"),
            ("orders.1", "crashed"),
        ]


def test_the_newest_run_of_all_and_of_a_pipeline() -> None:
    for name, started in (("a", "2026-01-02"), ("b", "2026-01-03"), ("a", "2026-01-01")):
        with record.record(name, {"started": started}, "") as run:
            run.end({"state": "finished"})
    newest, of_a = record.find(""), record.find("a")
    assert newest is not None
    assert of_a is not None
    assert (newest.id, of_a.id) == ("b.1", "a.2")


def test_old_runs_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "KEPT", 3)
    for _ in range(5):
        with record.record("a", FACTS, ""):
            pass
    assert [run.number for run in record.runs("a")] == [5, 4, 3]


def test_who_looks_does_not_keep_a_run_from_starting(home: Path) -> None:
    with record.record("a", FACTS, ""):
        pass
    # A look takes the lock for a moment; here for as long as another process runs.
    code = "import fcntl, sys; f = open(sys.argv[1]); fcntl.flock(f, fcntl.LOCK_SH); print('x', flush=True)"
    lock = str(home / "a" / "lock")
    with subprocess.Popen([sys.executable, "-c", code, lock], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        with record.record("a", FACTS, "") as run:
            assert run.id == "a.2"
