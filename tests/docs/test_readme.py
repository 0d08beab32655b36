"""The README's sessions: their commands run and print what the README shows."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from lib import pyjs_server, transcript
from lib.cli import Cli

ADDRESS = "nats://localhost:4222"
SETTINGS = 'listen: 127.0.0.1:<client>\nserver_name: s1\njetstream { store_dir: "<store>" }\n'
README = (Path(__file__).resolve().parents[2] / "README.md").read_text("utf-8")


def test_the_session_prints_what_the_readme_prints(tmp_path: Path) -> None:
    (session,) = re.findall(r"```console\n(.*?)```", README, re.DOTALL)
    server = pyjs_server.start('listen: 127.0.0.1:<client>\njetstream { store_dir: "<store>" }\n')
    try:
        cli = Cli(tmp_path, f"--server={server.url}")
        steps = transcript.parse(re.sub(r"(?m)^\$ ", "> ", session))
        assert len(steps) == 6
        for step in steps:
            transcript.play(cli, step)
        section = README.partition("## Why nothing arrives")[2].partition("\n## ")[0]
        add, explain = re.findall(r"(?m)^\$ pyjs (.*)$", section)[:2]
        cli.ok(*shlex.split(add))
        # Proposed commands repeat the flags of the connection, and the README's reader gives none.
        explained = cli.with_flags().run(*shlex.split(explain), env={"NATS_URL": server.url})
        assert (explained.code, explained.out.strip() in section) == (1, True)
    finally:
        server.stop()


def test_an_operator_and_a_server_as_the_readme_makes_them(tmp_path: Path) -> None:
    section = README.partition("## Operators, accounts and users by tokens")[2].partition("\n## ")[0]
    lines = re.findall(r"(?m)^\$ pyjs (.*)$", section)
    assert len(lines) == 9
    cli = Cli(tmp_path)

    def play(number: int) -> str:
        return cli.ok(*shlex.split(lines[number].replace(ADDRESS, server.url if server else ADDRESS)))

    server = None
    for number in (0, 1, 3):
        play(number)
    assert lines[4].startswith("server run -c server.conf ")
    server = pyjs_server.start(SETTINGS + (tmp_path / "server.conf").read_text())
    try:
        play(2)
        cli.ok("nsc", "edit", "operator", "--service-url", server.url, "--rm-service-url", ADDRESS)
        assert play(5).replace(server.url, ADDRESS) in section
        assert _shape(play(6)) in _shape(section)
        play(7)
        assert "Stream ORDERS was created" in play(8)
    finally:
        server.stop()


def _shape(text: str) -> str:
    """The text without dates and ids."""
    return re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d|\b[A-Z0-9]{12}\b", "-", text)
