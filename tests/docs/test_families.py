"""The sessions of pages about families of commands, played on both servers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from lib.cli import Cli
from lib.process import ServerProcess
from lib.source_facts import ROOT
from lib.transcript import parse, play

CONFIG = """
listen: "127.0.0.1:<client>"
server_name: alone
jetstream { store_dir: "<store>" }
"""


@pytest.mark.parametrize(
    "page", ["consumer", "counter", "dlq", "errors", "kv", "messages", "object", "stream"]
)
def test_the_session_runs_as_printed(
    serve: Callable[[str], ServerProcess], implementation: str, page: str, tmp_path: Path
) -> None:
    if page == "dlq" and implementation == "reference":
        pytest.skip("the session shows messages that pyjs-server has stored")
    cli = Cli(tmp_path, "--server", serve(CONFIG).url)
    played_before = cli.run("stream", "ls", "--all", "--names").out.split()  # by the server's other pages
    for name in played_before:
        cli.run("stream", "rm", name, "--force")
    (tmp_path / "report.txt").write_text("a report\n")
    text = (ROOT / f"docs/cli/{page}.md").read_text(encoding="utf-8")
    session = text[text.index("    > ") : text.index("\n## ")]
    lines = "\n".join(line.removeprefix("    ") for line in session.splitlines())
    steps = parse(lines, {"/srv/reports": str(tmp_path)})
    assert len(steps) > 1
    for step in steps:
        play(cli, step)
