"""The folder examples/: its own tests pass, each folder by itself as a user would run it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
WITH_TESTS = sorted({path.parent.name for path in EXAMPLES.glob("*/test_*.py")})


def test_there_are_examples_with_tests() -> None:
    assert WITH_TESTS == ["callout", "fastapi", "provision", "schedules", "service"]


@pytest.mark.parametrize("name", WITH_TESTS)
def test_an_example_passes_its_own_tests(name: str, tmp_path: Path) -> None:
    folder = tmp_path / name
    shutil.copytree(EXAMPLES / name, folder)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_folder_is_on_the_page() -> None:
    page = (EXAMPLES / "README.md").read_text("utf-8")
    for folder in EXAMPLES.iterdir():
        assert not folder.is_dir() or f"| [{folder.name}](" in page, folder.name
