"""CONTRIBUTING.md: its conformance test runs on both servers as printed there, and passes."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SECTION = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("## Write a conformance test\n")[2]

NOT_INSTALLED = """
from types import SimpleNamespace

from lib import reference

reference.sys = SimpleNamespace(executable="/nowhere/python")
reference.shutil = SimpleNamespace(which=lambda name: None)
"""


def run(folder: Path, test: str) -> subprocess.CompletedProcess[str]:
    """Run a test file beside copies of what a file in tests/conformance has around it."""
    for conftest in ("conftest.py", "conformance/conftest.py"):
        (folder / conftest).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / "tests" / conftest, folder / conftest)
    (folder / "conformance" / "test_page.py").write_text(test)
    command = [sys.executable, "-m", "pytest", "-v", "-p", "no:xdist", "-c", str(ROOT / "pyproject.toml")]
    return subprocess.run([*command, str(folder)], capture_output=True, text=True, check=False)


def test_the_conformance_test_of_the_page_passes_on_both_servers(tmp_path: Path) -> None:
    (test,) = re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL)
    done = run(tmp_path, test)
    passed = re.findall(r"\[(\w+)\] PASSED", done.stdout)
    assert (passed, done.returncode) == (["reference", "pyjs"], 0), done.stdout + done.stderr


def test_without_the_reference_its_absence_is_said_once(tmp_path: Path) -> None:
    (test,) = re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL)
    done = run(tmp_path, NOT_INSTALLED + test)
    assert re.findall(r"\[(\w+)\] (PASSED|ERROR|RERUN)", done.stdout) == [
        ("reference", "ERROR"),
        ("pyjs", "PASSED"),
    ], done.stdout + done.stderr
    assert done.stdout.count("Without it, only tests of pyjs alone can pass.") == 1
    assert "Traceback" not in done.stdout
