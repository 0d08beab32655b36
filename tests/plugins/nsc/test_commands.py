"""Every command, alias and flag of `nsc` exists in `pyjs nsc`, and those of its groups reach its commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lib import command_list
from lib.cli import Cli
from lib.nsc_folders import NscFolders
from pyjs.plugins.nsc import nsc

LINES = tuple(command_list.read(Path(__file__).parent / "nsc_commands.txt"))


def test_each_command_alias_and_flag_exists() -> None:
    assert list(command_list.missing(nsc, LINES, {})) == []


def test_the_list_is_read_whole() -> None:
    assert len(LINES) == 96  # with the line of the global flags
    assert sum(len(line.flags) for line in LINES) == 483


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    NscFolders(tmp_path / "nsc", "A", "B")
    return Cli(tmp_path, "nsc", "-H", str(tmp_path / "nsc"))


def test_a_flag_of_a_group_counts_for_its_command(cli: Cli) -> None:
    after = cli.ok("list", "accounts", "-J")
    assert [each["name"] for each in json.loads(after)] == ["A", "B"]
    assert cli.ok("list", "-J", "accounts") == after
    assert cli.ok("list", "-J", "account") == after
    assert cli.ok("list", "-J", "accounts", "-J=false") == cli.ok("list", "accounts") != after


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_completion_with_and_without_descriptions(cli: Cli, shell: str) -> None:
    script = cli.ok("completion", shell)
    bare = cli.ok("completion", shell, "--no-descriptions")
    assert "_PYJS_COMPLETE" in script and "NO_DESCRIPTIONS" not in script
    added = [line for line in bare.splitlines() if line not in script.splitlines()]
    assert len(added) == 1 and "_PYJS_COMPLETE_NO_DESCRIPTIONS" in added[0]


def test_nothing_is_described_where_the_script_says_so(tmp_path: Path) -> None:
    env = {"_PYJS_COMPLETE": "fish_complete", "COMP_WORDS": "pyjs nsc comp", "COMP_CWORD": "comp"}
    bare = {**env, "_PYJS_COMPLETE_NO_DESCRIPTIONS": "1"}
    cli = Cli(tmp_path)
    assert cli.process(env=env).out == "plain,completion\tShell completion scripts\n"
    assert cli.process(env=bare).out == "plain,completion\n"


def test_pages_and_tables_of_the_commands(cli: Cli, tmp_path: Path) -> None:
    cli.ok("test", "doc", str(tmp_path / "pages"))
    leaves = {line.path for line in LINES if not any(o.path.startswith(f"{line.path} ") for o in LINES)}
    pages = {path.stem for path in (tmp_path / "pages").iterdir()}
    assert {f"nsc_{path.replace(' ', '_')}" for path in leaves if path} <= pages
    assert "--no-descriptions" in (tmp_path / "pages" / "nsc_completion_zsh.md").read_text("utf-8")

    head, *rows = cli.ok("test", "flags").splitlines()
    flags = head.split(",")
    users = dict(
        zip(flags, next(row for row in rows if row.startswith("nsc list users,")).split(","), strict=True)
    )
    assert (users["account"], users["operator"], users["encrypt"]) == ("a", "o", "")

    assert cli.ok("test", "whoflag", "encrypt").splitlines() == [
        "nsc req",
        "nsc sub",
        "nsc tool req",
        "nsc tool sub",
    ]
    assert cli.ok("test", "nkey", "-x").startswith("SX")
    assert "Pages and tables" not in cli.ok("--help")
