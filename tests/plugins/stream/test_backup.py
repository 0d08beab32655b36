"""A stream is saved into a directory and loaded again, by servers that support snapshots."""

from __future__ import annotations

import json
from pathlib import Path

from lib.cli import Cli
from lib.eventually import eventually
from lib.process import ServerProcess


def test_a_stream_comes_back_as_it_was(cli: Cli, server: ServerProcess, unique: str, tmp_path: Path) -> None:
    cli.ok("stream", "add", unique, "--subjects", unique, "--max-age", "1y")
    wire = server.connect()
    for number in range(500):
        wire.send(f"PUB {unique} 4\r\n{number:04}\r\n".encode())
    wire.close()
    eventually(lambda: json.loads(cli.ok("stream", "info", unique, "--json"))["state"]["messages"] == 500)
    before = json.loads(cli.ok("stream", "info", unique, "--json"))
    out = cli.ok("stream", "backup", unique, "saved")
    assert out.startswith(f'Starting backup of Stream "{unique}" with ')
    assert json.loads((tmp_path / "saved" / "backup.json").read_text())["config"]["name"] == unique
    assert f'Stream "{unique}" exists already' in cli.run("stream", "restore", "saved").err
    cli.ok("stream", "rm", unique, "-f")
    assert f'Restored stream "{unique}" in ' in cli.ok("stream", "restore", "saved")
    after = json.loads(cli.ok("stream", "info", unique, "--json"))
    assert after["state"] == before["state"]
    assert after["config"]["max_age"] == before["config"]["max_age"]
    assert cli.ok("stream", "view", unique, "1", "--id", "500", "--raw").split() == ["0499"]


def test_a_directory_that_is_no_backup_is_refused(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    result = cli.run("stream", "restore", "empty")
    assert result.code == 1
    assert "is no backup" in result.err


def test_an_unknown_stream_leaves_no_directory(cli: Cli, tmp_path: Path) -> None:
    result = cli.run("stream", "backup", "NOSUCH", "saved")
    assert result.code == 3
    assert "stream not found (10059)" in result.err
    assert not (tmp_path / "saved").exists()
