"""The pages of docs/cli: the commands in their tables exist, with the flags that are named beside them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from lib.cli import Cli

PAGES = Path(__file__).resolve().parents[2] / "docs" / "cli"
FAMILIES = ("account", "consumer", "context", "counter", "errors", "schema", "server", "service", "stream")
ROW = re.compile(r"(?m)^\| (`.*?) \| (.*) \|$")
IN_CODE = re.compile(r"`([^`]+)`")
FLAG = re.compile(r"`(--?[a-z][\w-]*)")


@pytest.mark.parametrize("family", FAMILIES)
def test_the_commands_of_a_table_exist(tmp_path: Path, family: str) -> None:
    cli = Cli(tmp_path)
    rows = ROW.findall((PAGES / f"{family}.md").read_text("utf-8").partition("\n## ")[0])
    assert len(rows) > 2
    for names, text in rows:
        helps = described(cli, family, IN_CODE.findall(names))
        assert [flag for flag in FLAG.findall(text) if not re.search(rf"{flag}\b", helps)] == [], names


def described(cli: Cli, family: str, names: list[str]) -> str:
    """The help texts of the commands of one row; after the first one a group's name may be left out."""
    found, group = "", ""
    for name in names:
        words = name.removesuffix(" …").split()
        group = words[0] if len(words) > 1 else group
        tried = [cli.run(family, *before, *words, "--help") for before in ((), (group,))]
        shown = next((each.out for each in tried if each.code == 0), "")
        assert shown, f"pyjs {family} {name}"
        found += shown
    return found
