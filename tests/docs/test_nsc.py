"""The page docs/nsc.md: its command lines succeed as they stand there, one after the other."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from lib import pyjs_server
from lib.cli import Cli

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "nsc.md").read_text("utf-8")
ADDRESS = "nats://localhost:4222"
SETTINGS = 'listen: 127.0.0.1:<client>\nserver_name: s1\njetstream { store_dir: "<store>" }\n'
# These need files or servers of somebody else, or wait for messages.
ELSEWHERE = ("import account", "import user", "migrate", "load", "keys migrate", "tool")


def commands() -> Iterator[list[str]]:
    """The words of each command line after `pyjs`; what explains it stands behind two blanks."""
    blocks = re.findall(r"(?ms)^```\n(.*?)^```$", PAGE)
    for line in "".join(blocks).splitlines():
        if line.startswith("pyjs "):
            yield shlex.split(re.split(r"\s{2,}", line)[0])[1:]


def test_the_commands_of_the_page_succeed(tmp_path: Path) -> None:
    cli, server = Cli(tmp_path), None
    played = 0
    try:
        for words in commands():
            if words[0] == "server":
                assert words == ["server", "run", "-c", "server.conf", "-js", "-sd", "./data", "&"]
                server = pyjs_server.start(SETTINGS + (tmp_path / "server.conf").read_text())
                moved = ["--service-url", server.url, "--account-jwt-server-url", server.url]
                cli.ok("nsc", "edit", "operator", *moved, "--rm-service-url", ADDRESS)
            elif not " ".join(words[1:]).startswith(ELSEWHERE):
                cli.ok(*words)
                played += 1
    finally:
        if server is not None:
            server.stop()
    assert played > 30
