"""A save that was cut early goes on with what is there, and takes nothing of another state of the stream."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from lib.cli import Cli
from pyjs.plugins.backup import consumer_read

from .conftest import Fill

WRITE = "pyjs.plugins.backup.archive:FileWriter.write"
TAKEN = "pyjs.plugins.backup.save:_size"


@pytest.fixture
def stream(cli: Cli, unique: str, fill: Fill) -> str:
    """A stream of 3,000 messages."""
    cli.ok("stream", "add", unique, "--subjects", unique, "--defaults")
    fill(unique, 3000, 1000)
    return unique


def words(stream: str) -> tuple[str, ...]:
    return ("stream", "backup", stream, "saved", "--chunk-size", "64KB", "--no-progress")


def counts(out: str) -> tuple[int, int]:
    """Return how many messages were kept, and how many were fetched."""
    found = re.search(r"s: ([0-9,]+) kept, ([0-9,]+) fetched", out)
    assert found, out
    return int(found[1].replace(",", "")), int(found[2].replace(",", ""))


def live(cli: Cli) -> str:
    """Return how the backup compares with the stream."""
    return str(json.loads(cli.ok("backup", "verify", "saved", "--live", "-o", "json"))[0]["result"])


def test_it_goes_on_however_early_and_often_it_was_cut(
    cli: Cli, stream: str, killed: Callable[..., None]
) -> None:
    chance = random.Random(stream)
    killed(WRITE, 26, *words(stream))
    for call in sorted(chance.sample(range(2, 900), 2)):
        killed(TAKEN, call, *words(stream))
        assert cli.run("backup", "verify", "saved").code == 5
    result = cli.run(*words(stream))
    assert (result.code, "it goes on, as of 20" in result.err) == (0, True), result.err
    kept, fetched = counts(result.out)
    assert kept and kept + fetched == 3000
    assert live(cli) == "3,000 messages as in the Stream"


@pytest.mark.parametrize("retention", ["limits", "work"])
def test_what_is_larger_than_a_request_or_cannot_be_read_by_a_consumer(
    cli: Cli,
    unique: str,
    fill: Fill,
    killed: Callable[..., None],
    retention: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cli.ok("stream", "add", unique, "--subjects", unique, "--retention", retention, "--defaults")
    for size in (200_000, 20_000, 150_000, 0):
        fill(unique, 10, size)
    killed(WRITE, 45, *words(unique))
    monkeypatch.setattr(consumer_read, "MOST_BYTES", 100_000)
    kept, fetched = counts(cli.ok(*words(unique)))
    assert kept < 40 and kept + fetched == 40
    assert live(cli) == "40 messages as in the Stream"
    assert json.loads(cli.ok("stream", "info", unique, "-j"))["state"]["consumer_count"] == 0


def test_what_went_meanwhile_is_told(cli: Cli, stream: str, killed: Callable[..., None]) -> None:
    killed(WRITE, 26, *words(stream))
    cli.ok("stream", "edit", stream, "--max-msgs", "5000", "-f")
    cli.ok("stream", "purge", stream, "--keep", "100", "-f")
    result = cli.run(*words(stream))
    kept, fetched = counts(result.out)
    assert fetched == 100
    assert f"{2900 - kept:,} messages of {stream} went while the backup was cut" in result.err
    assert f"the configuration of {stream} has changed: the backup has that of 20" in result.err
    cli.ok("stream", "rm", stream, "-f")
    cli.ok("stream", "restore", "saved")
    assert json.loads(cli.ok("stream", "info", stream, "-j"))["state"]["messages"] == kept + 100


def test_a_stream_that_was_made_again_is_saved_whole(
    cli: Cli, stream: str, fill: Fill, killed: Callable[..., None]
) -> None:
    killed(WRITE, 26, *words(stream))
    cli.ok("stream", "rm", stream, "-f")
    cli.ok("stream", "add", stream, "--subjects", stream, "--defaults")
    fill(stream, 3000, 10)
    result = cli.run(*words(stream))
    assert (result.code, "because the Stream was created again since" in result.err) == (0, True), result.err
    assert "kept" not in result.out
    assert live(cli) == "3,000 messages as in the Stream"


def test_another_message_of_the_same_number_is_noticed(
    cli: Cli, stream: str, fill: Fill, tmp_path: Path, killed: Callable[..., None]
) -> None:
    killed(WRITE, 26, *words(stream))
    cli.ok("stream", "rm", stream, "-f")
    cli.ok("stream", "add", stream, "--subjects", stream, "--defaults")
    fill(stream, 3000, 10)
    begun = tmp_path / "saved" / "unfinished.json"  # as if servers kept the time of creation in a restore
    created = json.loads(cli.ok("stream", "info", stream, "-j"))["created"]
    begun.write_text(json.dumps(json.loads(begun.read_text()) | {"created": created}))
    result = cli.run(*words(stream))
    assert (result.code, "the Stream has another message" in result.err) == (0, True), result.err
    assert live(cli) == "3,000 messages as in the Stream"


def test_an_account_goes_on_behind_the_streams_that_were_saved(
    cli: Cli, stream: str, fill: Fill, tmp_path: Path, killed: Callable[..., None]
) -> None:
    other = f"{stream}_2"
    cli.ok("stream", "add", other, "--subjects", other, "--defaults")
    fill(other, 10)
    line = ("account", "backup", "all", "-f", "--no-progress")
    killed("pyjs.plugins.backup.progress:AccountProgress.end", 1, *line)
    saved = json.loads((tmp_path / "all" / "begun.json").read_text())["saved"]
    assert {stream, other} <= set(saved)
    manifests = [(tmp_path / "all" / each / "manifest.json") for each in (stream, other)]
    before = [each.read_bytes() for each in manifests]
    (tmp_path / "all" / "begun.json").write_text(json.dumps({"saved": [stream]}))
    out = cli.ok(*line)
    assert f'"{stream}" was saved at 20' in out and f'for stream "{other}"' in out
    after = [each.read_bytes() for each in manifests]
    assert (before[0] == after[0], before[1] == after[1]) == (True, False)
    assert not (tmp_path / "all" / "begun.json").exists()
    assert cli.run("backup", "verify", "all").code == 0
    assert f'"{stream}" was saved at' not in cli.ok(*line)
