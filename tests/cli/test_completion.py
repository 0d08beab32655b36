"""Shells complete commands, flags and the names of streams and contexts."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from lib.cli import Cli
from lib.eventually import eventually
from lib.process import ServerProcess


def completed(cli: Cli, line: str) -> list[str]:
    """What bash would offer for the last word of a line."""
    words = line.split(" ")
    env = {"_PYJS_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    result = cli.process(env=env)
    assert result.err == ""
    return [each.partition(",")[2] for each in result.out.splitlines() if each]


def test_commands_are_completed_from_the_table(cli: Cli) -> None:
    assert completed(cli, "pyjs con") == ["consumer", "context"]
    assert completed(cli, "pyjs stream re") == ["report", "restore"]


def test_flags_are_completed(cli: Cli) -> None:
    assert completed(cli, "pyjs stream add --max-m") == [
        "--max-msg-size",
        "--max-msgs",
        "--max-msgs-per-subject",
    ]


def test_global_flags_are_completed_everywhere(cli: Cli) -> None:
    assert completed(cli, "pyjs --js-d") == ["--js-domain"]
    assert completed(cli, "pyjs stream --js-d") == ["--js-domain"]
    assert completed(cli, "pyjs stream ls --js-d") == ["--js-domain"]


def test_contexts_are_completed(cli: Cli) -> None:
    cli.ok("context", "save", "production")
    cli.ok("context", "save", "staging")
    assert completed(cli, "pyjs context select pro") == ["production"]
    assert completed(cli, "pyjs stream info --context st") == ["staging"]


def test_streams_are_completed_with_the_settings_typed_so_far(
    cli: Cli, guarded: ServerProcess, unique: str
) -> None:
    url = f"nats://ada:s3cret@127.0.0.1:{guarded.port}"
    cli.ok("stream", "add", unique, "--subjects", unique, "-s", url)
    assert completed(cli, f"pyjs --server {url} stream info {unique[:-1]}") == [unique]


def test_without_a_server_completion_is_empty_and_quick(cli: Cli) -> None:
    begin = time.monotonic()
    assert completed(cli, "pyjs --server 127.0.0.1:1 stream info X") == []
    assert time.monotonic() - begin < 20


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script(cli: Cli, shell: str, tmp_path: Path) -> None:
    assert "_PYJS_COMPLETE" in cli.ok("completion", shell)


def test_consumers_are_completed_of_the_stream_typed_before(
    cli: Cli, guarded: ServerProcess, unique: str
) -> None:
    url = f"nats://ada:s3cret@127.0.0.1:{guarded.port}"
    cli.ok("stream", "add", unique, "--subjects", unique, "-s", url)
    cli.ok("consumer", "add", unique, "billing", "--pull", "--defaults", "-s", url)
    for command in ("info", "next", "rm", "edit"):
        line = f"pyjs --server {url} consumer {command} {unique} bil"
        # On a busy machine an answer may come after the time a shell is let wait: then there is none.
        eventually(lambda line=line: completed(cli, line) == ["billing"])  # type: ignore[misc]
    assert completed(cli, "pyjs server rep") == ["report"]
