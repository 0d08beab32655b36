"""`top` on both servers: figures, connections, rates, files and keys."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from lib.cli import Cli
from lib.process import ServerProcess
from lib.terminal import Terminal
from pyjs.plugins.server.top import short_number, short_size

CONFIG = """
listen: "127.0.0.1:<client>"
server_name: alone
accounts { SYS: { users: [{user: sys, password: x}] }, A: { users: [{user: ada, password: x}] } }
system_account: SYS
"""


@pytest.fixture
def server(serve: Callable[[str], ServerProcess]) -> ServerProcess:
    return serve(CONFIG)


@pytest.fixture
def cli(server: ServerProcess, tmp_path: Path) -> Cli:
    return Cli(tmp_path, "--server", server.url, "--user", "sys", "--password", "x")


def shows(terminal: Terminal, text: str) -> str:
    """The screen, once it shows `text`."""
    for _ in range(400):
        lines = "\n".join(terminal.lines())
        if text in lines:
            return lines
        assert terminal.process.poll() is None, terminal.errors()
        terminal.read(0.05)
    raise AssertionError("\n".join(terminal.lines()))


def test_looks_in_a_pipe(cli: Cli, server: ServerProcess) -> None:
    with server.connect(user="ada", **{"pass": "x"}, name="worker") as wire:
        wire.sub("orders.*")
        wire.sync()
        out = cli.ok("top", "alone", "--max-refresh", "2", "--subs", "--sort", "subs", "--conns", "5")
    assert out.count("Server: alone\n") == 2
    assert "Connections Polled: 2" in out or "Connections Polled: 3" in out
    assert "│ worker " in out
    assert "orders.*" in out
    assert "\x1b" not in out


def test_a_file(cli: Cli, server: ServerProcess, tmp_path: Path) -> None:
    with server.connect(user="ada", **{"pass": "x"}, name="worker"):
        assert cli.ok("top", "alone", "--output", "saved") == ""
        assert cli.ok("top", "alone", "-o", "fields", "--delimiter", ";", "--raw", "--lookup") == ""
    assert "│ worker " in (tmp_path / "saved").read_text()
    lines = (tmp_path / "fields").read_text().splitlines()
    assert "Host;CID;Name;Subs;Pending;Msgs To;Msgs From;Bytes To;Bytes From;Lang;Version" in lines[-3]
    assert any(";worker;0;0;" in line for line in lines)


def test_keys_change_what_is_shown(cli: Cli, server: ServerProcess) -> None:
    with (
        server.connect(user="ada", **{"pass": "x"}, name="worker") as wire,
        cli.terminal(["top", "alone"]) as top,
    ):
        wire.sub("orders.*")
        wire.sync()
        shows(top, "worker")
        top.type("s")
        shows(top, "orders.*")
        top.type("q")
        assert top.finish() == 0


@pytest.mark.parametrize(
    ("code", "words", "said"),
    [
        (3, ("nobody", "--timeout", "300ms"), "no server nobody answers"),
        (2, ("alone", "--sort", "size"), "--sort"),
        (2, ("alone", "-n", "0"), "--conns"),
        (2, ("alone", "-d", "0"), "--interval"),
    ],
)
def test_mistakes(cli: Cli, code: int, words: tuple[str, ...], said: str) -> None:
    result = cli.run("top", *words)
    assert (result.code, result.out) == (code, "")
    assert said in result.err


@pytest.mark.parametrize(
    ("value", "raw", "number", "size"),
    [
        (0, False, "0", "0"),
        (999, False, "999", "999"),
        (1023, False, "1.0K", "1023"),
        (1536, False, "1.5K", "1.5K"),
        (2_500_000, False, "2.5M", "2.4M"),
        (2_500_000, True, "2500000", "2500000"),
        (5e15, False, "5000.0T", "4656612.9G"),
    ],
)
def test_short_figures(value: float, raw: bool, number: str, size: str) -> None:
    assert short_number(value, raw=raw) == number
    assert short_size(value, raw=raw) == size
