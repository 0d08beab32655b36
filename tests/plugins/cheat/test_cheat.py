"""`cheat`: the sheets are shown and saved, and every command line in them exists, with its flags."""

from __future__ import annotations

import shlex
from pathlib import Path

import click
import pytest
from lib.cli import Cli
from pyjs.cli.entry import root
from pyjs.plugins.cheat.command import sheets


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


def test_sheets_are_listed_shown_and_saved(cli: Cli, tmp_path: Path) -> None:
    names = list(sheets())
    assert {"stream", "kv", "bench", "service"} <= set(names)
    for words in ((), ("--list",)):
        assert cli.ok("cheat", *words).split()[2:] == names
    assert cli.ok("cheat", "stream") == sheets()["stream"]
    assert cli.ok("cheat", "--save", "saved") == f"Saved {len(names)} cheat sheets to saved\n"
    assert sorted(each.name for each in (tmp_path / "saved").iterdir()) == names
    assert (
        tmp_path / "saved" / "kv"
    ).read_text() == "---\nsyntax: bash\ntags: [ pyjs, nats ]\n---\n" + sheets()["kv"]
    again = cli.run("cheat", "--save", "saved")
    assert (again.code, again.out) == (2, "")
    wrong = cli.run("cheat", "steam")
    assert (wrong.code, wrong.out) == (3, "")
    assert "did you mean stream?" in wrong.err


@pytest.mark.parametrize("name", sheets())
def test_the_lines_of_a_sheet_are_right(name: str) -> None:
    for line in sheets()[name].splitlines():
        assert not line or line.startswith(("# ", "pyjs ")), line
        if line.startswith("pyjs "):
            check(shlex.split(line)[1:], line)


def check(words: list[str], line: str) -> None:
    """Look up the command and its flags."""
    command: click.Command = root
    context = click.Context(root, help_option_names=["-h", "--help"])  # which the command keeps
    while isinstance(command, click.Group) and words:
        found = command.get_command(context, words[0])
        assert found is not None, line
        command, context, words = found, click.Context(found, parent=context, info_name=words[0]), words[1:]
    assert not isinstance(command, click.Group), line
    if line.startswith("pyjs server run"):
        return  # its flags are those of nats-server, which it parses itself
    known = {flag for param in command.get_params(context) for flag in (*param.opts, *param.secondary_opts)}
    assert [word for word in words if word.startswith("-") and word.partition("=")[0] not in known] == [], (
        line
    )
