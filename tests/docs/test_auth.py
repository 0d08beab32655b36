"""The page docs/cli/auth.md: its session runs as printed, and its other command lines succeed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from lib import pyjs_server
from lib.cli import Cli
from lib.source_facts import ROOT
from lib.transcript import normal, parse, play

PAGE = (ROOT / "docs" / "cli" / "auth.md").read_text("utf-8")
SETTINGS = 'listen: "127.0.0.1:<client>"\njetstream { store_dir: "<store>" }\n'
KEY = re.compile(r"\b[OAUN][A-Z2-7]{55}\b")


def alike(lines: list[str]) -> list[str]:
    """Lines without what differs from run to run: times, and keys, which all have one length."""
    return [KEY.sub("<key>", line) for line in normal(lines)]


def test_the_page_does_what_it_says(tmp_path: Path) -> None:
    here, server = Cli(tmp_path), None
    session, _, rest = PAGE.partition("\n## ")
    steps = parse("\n".join(line.removeprefix("    ") for line in session.splitlines()))
    steps[-1].expected = steps[-1].expected[:3]  # what stands behind them is prose
    assert len(steps) > 8
    try:
        for step in steps:
            if step.words[0] == "server":
                assert step.words == ["server", "run", "-c", "server.conf", "&"]
                config = (tmp_path / "server.conf").read_text().replace("'./jwt'", '"<store>/jwt"')
                server = pyjs_server.start(SETTINGS + config)
                here = Cli(tmp_path, "--server", server.url)
            else:
                play(here, step, alike)
        lines = re.findall(r"(?m)^    pyjs (.*)$", rest)
        assert len(lines) > 6
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        for words in map(shlex.split, lines):
            if words[:3] == ["auth", "operator", "restore"]:
                for name in ("acme.backup", "backup.nk"):
                    (elsewhere / name).write_bytes((tmp_path / name).read_bytes())
                Cli(elsewhere).ok(*words)
            else:
                Cli(tmp_path).ok(*words)
    finally:
        if server is not None:
            server.stop()
