"""`--config` makes streams of the configurations that `--output` writes, as in the demonstration."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from lib import transcript
from lib.cli import Cli
from lib.process import ServerProcess

CONFIG = 'listen: "127.0.0.1:<client>"\njetstream { store_dir: "<store>", domain: hub }\n'


def test_documents_are_written_and_read(launch: Callable[[str], ServerProcess], tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    cli.ok("context", "save", "hub", "-s", launch(CONFIG).url)
    for step in transcript.read(Path(__file__).with_name("video-documents.txt")):
        transcript.play(cli, step)
    mirror = json.loads((tmp_path / "recv-cnc").read_text())
    assert mirror["num_replicas"] == 3
    assert mirror["mirror"] == {"name": "cnc", "external": {"api": "$JS.hub.API", "deliver": ""}}
    sources = json.loads((tmp_path / "aggregate").read_text())["sources"]
    assert [each["external"] for each in sources] == [
        {"api": "$JS.leafacc.spoke-1.API", "deliver": "deliver.leafacc.spoke-1.hubacc.hub.aggregate"},
        {"api": "$JS.spoke-2.API", "deliver": ""},
    ]
