"""The folders of Spark sessions: each process has its own, and a start removes those of killed ones only."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from pyjs.pipeline.scratch import scratch

HOLDER = """
import sys
from pyjs.pipeline.scratch import scratch
with scratch() as folder:
    (folder / "blockmgr").mkdir()
    print(folder, flush=True)
    sys.stdin.read()
"""


def holder(place: Path) -> tuple[subprocess.Popen[str], Path]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER],
        env={**os.environ, "TMPDIR": str(place)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_a_start_clears_up_after_killed_processes_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "pyjs-spark-unlocked").mkdir()  # made this moment by another start, or not by us
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "lock").touch()
    (tmp_path / "pyjs-spark-link").symlink_to(tmp_path / "elsewhere")
    killed, left = holder(tmp_path)
    living, kept = holder(tmp_path)
    with living, killed:
        killed.kill()
        killed.wait()
        assert left.is_dir()
        with scratch() as own:
            assert not left.exists()
            assert {path.name for path in tmp_path.iterdir()} == {
                kept.name,
                own.name,
                "pyjs-spark-unlocked",
                "pyjs-spark-link",
                "elsewhere",
            }
        assert not own.exists()
        assert (kept / "blockmgr").is_dir()
        living.communicate("")
    assert not kept.exists()
    assert (tmp_path / "elsewhere" / "lock").exists()
