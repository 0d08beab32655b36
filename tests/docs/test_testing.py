"""docs/testing.md: its examples run as printed there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "testing.md").read_text(), re.DOTALL)


def test_the_pytest_examples_pass(tmp_path: Path) -> None:
    tests = [block for block in BLOCKS if "def test_" in block]
    assert len(tests) == 2
    (tmp_path / "test_page.py").write_text("\n\n".join(tests))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "test_page.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "2 passed" in done.stdout, done.stdout + done.stderr


def test_the_other_examples_run(tmp_path: Path) -> None:
    programs = [block for block in BLOCKS if "def test_" not in block]
    assert len(programs) == 2
    for program in programs:
        done = subprocess.run(
            [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert re.fullmatch(r"nats://127\.0\.0\.1:\d+\n", done.stdout), done.stdout
