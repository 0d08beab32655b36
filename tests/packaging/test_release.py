"""The release script: its output and its refusals. `.ci/release --dry-run` does the rest, by hand."""

from __future__ import annotations

import datetime
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / ".ci" / "release"


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT))


def test_the_version_is_set_and_nothing_else(script: dict[str, Any]) -> None:
    before = (ROOT / "version.py").read_text("utf-8")
    after = script["set_version"](before, "9.8.7")
    assert '\n__version__ = "9.8.7"\n' in after
    assert [line for line in after.splitlines() if "9.8.7" not in line] == [
        line for line in before.splitlines() if not line.startswith("__version__")
    ]


def test_what_was_unreleased_gets_the_version_and_an_empty_section_comes_above(
    script: dict[str, Any],
) -> None:
    today = datetime.datetime.now(datetime.UTC).date()
    changed = script["set_section"](
        "# Changelog\n\n## Unreleased\n\n- This.\n\n## 0.1.0\n\n- That.\n", "0.2.0"
    )
    assert changed in {
        f"# Changelog\n\n## Unreleased\n\n## 0.2.0 ({day})\n\n- This.\n\n## 0.1.0\n\n- That.\n"
        for day in (today, today + datetime.timedelta(days=1), today - datetime.timedelta(days=1))
    }


def test_nothing_to_release_is_refused(script: dict[str, Any]) -> None:
    with pytest.raises(script["ReleaseError"], match="nothing under Unreleased"):
        script["set_section"]("# Changelog\n\n## Unreleased\n\n## 0.1.0\n\n- That.\n", "0.2.0")


@pytest.mark.parametrize(("words", "refusal"), [(["0.2"], "is no version"), ([], "which version?")])
def test_what_is_no_version_is_refused(words: list[str], refusal: str) -> None:
    done = subprocess.run([sys.executable, SCRIPT, *words], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert refusal in done.stderr
