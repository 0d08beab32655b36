"""docs/identity.md: its examples run as printed there, and print what the page says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "identity.md").read_text()
EXAMPLES = re.findall(r"```python\n(.*?)```\n\n```output\n(.*?)```", PAGE, re.DOTALL)


def test_each_example_shows_its_output() -> None:
    assert len(EXAMPLES) == len(re.findall("```python", PAGE)) == 7


@pytest.mark.parametrize(("program", "output"), EXAMPLES, ids=range(len(EXAMPLES)))
def test_an_example_prints_what_it_says(tmp_path: Path, program: str, output: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.returncode) == (output, 0), done.stderr
