"""The command line finds commands, takes global flags anywhere, and reports what is wrong with a line."""

from __future__ import annotations

import subprocess
import sys

import pytest
from lib.cli import Cli

HEAVY = ("rich", "nats", "questionary", "prompt_toolkit", "pydantic", "asyncio", "uvloop")


def test_help_lists_the_commands_and_the_global_flags(cli: Cli) -> None:
    out = cli.ok("--help")
    assert "stream (ms, s, st, str)" in out
    assert "--js-domain DOMAIN" in out
    assert "$NATS_URL" in out


def test_help_imports_nothing_heavy(cli: Cli) -> None:
    script = "import sys; from pyjs.cli.entry import run; run(['--help']); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=cli.environment()
    )
    loaded = set(done.stdout.splitlines()[-1].split())
    assert not loaded.intersection(HEAVY)
    assert len(loaded) < 250  # they are what a fifth of a second goes into


@pytest.mark.parametrize("name", ["stream", "str", "st", "ms", "s"])
def test_aliases_call_the_same_command(cli: Cli, name: str) -> None:
    assert "JetStream Stream management" in cli.ok(name, "--help")


def test_help_command_shows_the_help_of_a_path(cli: Cli) -> None:
    assert cli.ok("help", "s", "add") == cli.ok("stream", "add", "--help")


def test_version_is_shown(cli: Cli) -> None:
    from pyjs import __version__

    assert cli.ok("--version").strip() == __version__


def test_an_unknown_command_names_the_nearest(cli: Cli) -> None:
    result = cli.run("strem")
    assert result.code == 2
    assert 'expected command but got "strem"; did you mean stream' in result.err
    assert "Traceback" not in result.err


def test_an_unknown_sub_command_names_the_nearest(cli: Cli) -> None:
    result = cli.run("stream", "inffo")
    assert result.code == 2
    assert "did you mean info" in result.err


def test_a_group_without_sub_command_is_an_error_that_lists_them(cli: Cli) -> None:
    result = cli.run("stream")
    assert result.code == 2
    assert "sub command" in result.err
    assert "purge" in result.err


def test_an_unknown_flag_is_an_error(cli: Cli) -> None:
    result = cli.run("stream", "ls", "--nope")
    assert result.code == 2
    assert "--nope" in result.err


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        (("--timeout", "5"), "--timeout"),
        (("stream", "add", "x", "--max-age=5"), "--max-age"),
        (("stream", "add", "x", "--dupe-window", "soon"), "--dupe-window"),
        (("stream", "add", "x", "--max-bytes", "1.5GB"), "--max-bytes"),
        (("stream", "add", "x", "--max-msg-size", "many"), "--max-msg-size"),
        (("stream", "add", "x", "--storage", "tape"), "--storage"),
        (("stream", "add", "x", "--replicas", "0"), "--replicas"),
    ],
)
def test_a_value_that_does_not_parse_is_an_error_naming_its_flag(
    cli: Cli, words: tuple[str, ...], wrong: str
) -> None:
    result = cli.run(*words, *(() if "stream" in words else ("stream", "ls")))
    assert result.code == 2
    assert wrong in result.err
    assert result.out == ""


def test_nobody_listening_says_where_and_what_to_do(cli: Cli) -> None:
    result = cli.run("stream", "ls", "--server", "127.0.0.1:1")
    assert result.code == 6
    assert result.err.splitlines()[0] == (
        "pyjs: error: setup failed: nats: no servers available for connection"
    )
    assert "no server answers at nats://127.0.0.1:1 (connection refused)" in result.err
    assert "pyjs server run" in result.err
