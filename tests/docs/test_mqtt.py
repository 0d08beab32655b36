"""The page docs/mqtt.md: its session runs as printed, and its topics are the subjects that it says."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from lib.cli import Cli
from lib.process import ServerProcess
from lib.source_facts import ROOT
from lib.transcript import parse, play
from pyjs.server.mqtt.topics import level_above, to_subject

PAGE = (ROOT / "docs" / "mqtt.md").read_text("utf-8")
CONFIG = PAGE.split("```")[1]


@pytest.mark.skipif(shutil.which("mosquitto_sub") is None, reason="needs mosquitto's clients")
def test_the_session_runs_as_printed(launch: Callable[[str], ServerProcess], tmp_path: Path) -> None:
    config = CONFIG.replace("4222", "<client>").replace("/var/lib/nats", "<store>")
    server = launch(config.replace("port: 1883", "listen: 127.0.0.1:<mqtt>"))
    session = PAGE[PAGE.index("    > ") : PAGE.index("\n## Topics")]
    cli = Cli(tmp_path, "--server", server.url)
    for step in parse("\n".join(line.removeprefix("    ") for line in session.splitlines())):
        if step.command.startswith("pyjs"):
            play(cli, step)
            continue
        words = shlex.split(step.command.replace("1883", str(server.ports["mqtt"])))
        done = subprocess.run(words, capture_output=True, text=True, timeout=20, check=True)
        assert done.stdout.splitlines() == step.expected


def test_the_table_of_topics() -> None:
    rows = re.findall(r"(?m)^\| (filter )?`(.*?)` \| `(.*?)`(?: and `(.*?)`)? \|$", PAGE)
    assert len(rows) == 7
    for kind, topic, subject, above in rows:
        assert to_subject(topic, wildcards=bool(kind)) == subject
        assert level_above(subject) == above
