"""The page docs/cli/explain.md: it names every check that `pyjs explain` has, and no other."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "cli" / "explain.md").read_text("utf-8")
MADE = re.compile(r'Finding\(\s*"(\w+)"(?: if \w+ else "(\w+)")?')
ROW = re.compile(r"(?m)^\| (`\w+`(?:, `\w+`)*) \|")


def test_every_check_is_on_the_page() -> None:
    code = "".join(path.read_text("utf-8") for path in sorted((ROOT / "plugins" / "explain").glob("*.py")))
    made = {name for found in MADE.findall(code) for name in found if name}
    named = {name.strip("`") for row in ROW.findall(PAGE) for name in row.split(", ")}
    assert len(made) > 30
    assert named == made
