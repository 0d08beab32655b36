"""A server without a name is called by its id, which makes no line longer than the terminal is wide."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from lib.cli import Cli
from lib.process import ServerProcess
from pyjs.cli import entry

CONFIG = """
listen: "127.0.0.1:<client>"
jetstream { store_dir: "<store>" }
accounts {
    A: { jetstream: enabled, users: [{ user: a, password: a }] }
    SYS: { users: [{ user: sys, password: sys }] }
}
system_account: SYS
"""
LINES = [  # 1: the answer of one server is enough
    *(("server", "report", each, "1") for each in ("cpu", "mem", "connections", "jetstream", "health")),
    ("server", "list", "1"),
    ("server", "topology", "1"),
]


@pytest.mark.parametrize("columns", [80, 100])
def test_ids_in_place_of_names_are_shortened_in_a_terminal(
    serve: Callable[[str], ServerProcess],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    columns: int,
) -> None:
    url = serve(CONFIG).url
    cli = Cli(tmp_path, "--server", url, "--user", "a", "--password", "a")
    if cli.run("stream", "info", "ORDERS").code:
        cli.ok("stream", "add", "ORDERS", "--subjects", "orders.>", "--defaults")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    system = ["--server", url, "--user", "sys", "--password", "sys"]
    (name,) = cli.with_flags(*system).ok("server", "list", "1", "-o", "name").split()
    assert len(name) == 56
    for line in LINES:
        assert entry.run([*system, *line], columns=columns) == 0
        shown = capsys.readouterr().out
        assert max(map(len, shown.splitlines())) <= columns, line
        if name not in shown:
            assert name[:4] in shown and name[-4:] in shown, line
        assert name in cli.with_flags(*system).ok(*line), line  # nothing is cut off in a pipe
