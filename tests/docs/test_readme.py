"""The README's session: its commands run and print what stands there."""

from __future__ import annotations

import re
from pathlib import Path

from lib import pyjs_server, transcript
from lib.cli import Cli

ROOT = Path(__file__).resolve().parents[2]


def test_the_session_prints_what_the_readme_prints(tmp_path: Path) -> None:
    (session,) = re.findall(r"```console\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    server = pyjs_server.start('listen: 127.0.0.1:<client>\njetstream { store_dir: "<store>" }\n')
    try:
        cli = Cli(tmp_path, f"--server={server.url}")
        steps = transcript.parse(re.sub(r"(?m)^\$ ", "> ", session))
        assert len(steps) == 6
        for step in steps:
            transcript.play(cli, step)
    finally:
        server.stop()
