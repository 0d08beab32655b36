"""Each exit code of docs/cli.md is what a process ends with, and the page names all of them."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from lib.cli import PYJS, Cli
from lib.process import ServerProcess
from pyjs.cli.errors import ExitCode, RemoteError

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "cli.md").read_text("utf-8")
CONFIG = """
listen: "127.0.0.1:<client>"
jetstream { store_dir: "<store>" }
authorization { users: [
  { user: ada, password: "s3cret" }
  { user: eve, password: "eve", permissions: { publish: { deny: "$JS.API.STREAM.DELETE.*" } } }
] }
"""


@pytest.fixture
def guarded(cli: Cli, serve: Callable[[str], ServerProcess]) -> Cli:
    """A command line whose user is known to a server with the stream ORDERS."""
    url = serve(CONFIG).url
    ada = cli.with_flags("--server", url, "--user", "ada", "--password", "s3cret")
    if ada.run("stream", "info", "ORDERS").code:
        ada.ok("stream", "add", "ORDERS", "--subjects", "orders.>", "--defaults")
    return ada


def test_done(guarded: Cli) -> None:
    assert guarded.process("stream", "info", "ORDERS", "-o", "name").code == ExitCode.OK


@pytest.mark.parametrize(
    "words",
    [
        ("nosuchcommand",),
        ("stream",),
        ("stream", "info", "--nosuchflag"),
        ("stream", "ls", "-o", "xml"),
        ("stream", "ls", "--template", "{nosuchfield}"),
        ("stream", "ls", "--timeout", "soon"),
        ("stream", "info"),
        ("stream", "purge", "ORDERS"),  # it would have to ask
        ("stream", "report", "--watch", "never"),
        ("stream", "report", "--watch", "-o", "csv"),
    ],
)
def test_a_wrong_line(guarded: Cli, words: tuple[str, ...]) -> None:
    result = guarded.run(*words)
    assert (result.code, result.out) == (ExitCode.USAGE, ""), result.err
    assert "pyjs: error: " in result.err


@pytest.mark.parametrize(
    "words",
    [
        ("stream", "info", "NOSUCH"),
        ("consumer", "info", "ORDERS", "NOSUCH"),
        ("stream", "get", "ORDERS", "9"),
        ("stream", "ls", "--context", "nosuch"),
        ("context", "rm", "nosuch"),
        ("backup", "verify", "nosuch"),
        ("stream", "restore", "nosuch"),
        ("account", "restore", "nosuch"),
        ("stream", "backup", "ORDERS", "saved", "--key", "nosuch"),
        ("audit", "analyze", "nosuch"),
        ("explain", "orders.new", "--config", "nosuch"),
        ("bench", "pub", "orders.new", "--payload", "nosuch"),
        ("server", "check-config", "nosuch"),
        ("stream", "ls", "--creds", "nosuch"),
        ("stream", "ls", "--nkey", "nosuch"),
        ("stream", "ls", "--user", "ada", "--password", "file://nosuch"),
        ("stream", "ls", "--tlsca", "nosuch"),
        ("rtt", "--tlscert", "nosuch", "--tlskey", "nosuch"),
        ("stream", "add", "NEW", "--config", "nosuch"),
    ],
)
def test_what_does_not_exist(guarded: Cli, words: tuple[str, ...]) -> None:
    assert guarded.run(*words).code == ExitCode.NOT_FOUND


def test_a_refusal(guarded: Cli) -> None:
    again = guarded.run("stream", "add", "OTHER", "--subjects", "orders.x", "--defaults")
    assert again.code == ExitCode.REFUSED
    assert "overlap" in again.err
    unknown = guarded.run("stream", "ls", "--password", "wrong")
    assert unknown.code == ExitCode.REFUSED
    assert "Authorization" in unknown.err


def test_a_file_in_place_of_a_directory(guarded: Cli) -> None:
    (guarded.home / "file").touch()
    assert guarded.run("backup", "verify", "file").code == ExitCode.USAGE


def test_a_difference(guarded: Cli) -> None:
    assert guarded.run("stream", "edit", "ORDERS", "--max-msgs", "5", "--dry-run").code == ExitCode.DIFFERS
    assert guarded.run("stream", "edit", "ORDERS", "--max-msgs", "-1", "--dry-run").code == ExitCode.OK


def test_an_examination_has_codes_of_its_own(guarded: Cli) -> None:
    assert guarded.run("doctor").code == ExitCode.OK
    guarded.ok("stream", "add", "LONG", "--subjects", "long", "--dupe-window", "2h", "--defaults")
    assert guarded.run("doctor").code == ExitCode.WARNINGS
    guarded.ok("stream", "rm", "LONG", "--force")
    assert guarded.run("doctor", "--server", "127.0.0.1:1").code == ExitCode.ERRORS
    assert guarded.run("doctor", "--nosuchflag").code == ExitCode.USAGE


def test_nobody_there(guarded: Cli) -> None:
    assert guarded.run("stream", "ls", "--server", "127.0.0.1:1").code == ExitCode.UNAVAILABLE
    assert guarded.run("stream", "ls", "--js-domain", "nosuch").code == ExitCode.UNAVAILABLE
    mute = socket.create_server(("127.0.0.1", 0))  # takes connections and says nothing
    with mute:
        url = f"127.0.0.1:{mute.getsockname()[1]}"
        assert guarded.run("stream", "ls", "--server", url, "--timeout", "300ms").code == ExitCode.UNAVAILABLE


def test_an_interrupt(guarded: Cli) -> None:
    words = [*PYJS, *guarded.flags, "sub", "x"]
    with subprocess.Popen(words, env=guarded.environment(), stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        assert "Subscribing" in process.stderr.readline().decode()
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == ExitCode.OK  # listening ends so
    words = [*PYJS, *guarded.flags, "stream", "ls", "--timeout", "1h", "--server"]
    with socket.create_server(("127.0.0.1", 0)) as mute:
        url = f"127.0.0.1:{mute.getsockname()[1]}"
        process = subprocess.Popen([*words, url], env=guarded.environment(), stderr=subprocess.PIPE)
        with process, mute.accept()[0]:
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == ExitCode.INTERRUPTED


def test_a_reader_that_went_away(guarded: Cli) -> None:
    words = [*PYJS, "--help"]
    with subprocess.Popen(words, env=guarded.environment(), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.wait(20) == ExitCode.BROKEN_PIPE


@pytest.mark.parametrize(
    ("status", "code"),
    [(404, 3), (400, 4), (401, 4), (403, 4), (409, 4), (429, 4), (500, 1), (503, 6), (0, 1), (None, 1)],
)
def test_the_status_of_an_api_error_says_which(status: int | None, code: int) -> None:
    assert RemoteError(status or 0, 0, "x").exit_code == code


def test_the_page_has_every_code() -> None:
    table = PAGE.partition("## Exit codes")[2].partition("\n## ")[0]
    assert [int(code) for code in re.findall(r"(?m)^\| (\d+) \|", table)] == sorted(ExitCode)
