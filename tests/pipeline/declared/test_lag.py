"""How far sinks are behind, from checkpoints as Spark writes them and from the streams; without Spark."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from lib.cli import Cli
from lib.jetstream import ALONE, JetStream
from lib.process import ServerProcess
from pyjs.pipeline.declared import checkpoint_log, lag
from pyjs.pipeline.declared.checkpoint_log import Position
from pyjs.pipeline.declared.reading import LoadedDocument, parse

TEXT = """\
name: p
connection: {servers: "SERVER", timeout: 2s}
sources:
  orders: {stream: NAME, subjects: "NAME.a"}
  others: {stream: NAMEx}
transforms:
  both: {sql: "SELECT o.data FROM orders o JOIN others x ON o.data = x.data"}
sinks:
  files: {from: orders, format: json, path: out}
  joined: {from: both, format: json, path: both}
"""


class Checkpoint:
    """A folder with records of batches, in the form of Spark's OffsetSeqLog and CommitLog."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "offsets").mkdir(parents=True)
        (folder / "commits").mkdir()

    def begin(self, batch: int, *offsets: object) -> None:
        lines = ["v1", json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": 1795868989947, "conf": {}})]
        lines += ["-" if each is None else json.dumps(each) for each in offsets]
        (self.folder / "offsets" / str(batch)).write_text("\n".join(lines))
        (self.folder / "offsets" / f".{batch}.crc").write_bytes(b"crc")

    def end(self, batch: int) -> None:
        (self.folder / "commits" / str(batch)).write_text('v1\n{"nextBatchWatermarkMs":0}')


def test_a_position_is_that_of_the_newest_batch_that_is_done(tmp_path: Path) -> None:
    assert checkpoint_log.position(str(tmp_path / "none")) == Position(None, None)
    kept = Checkpoint(tmp_path / "c")
    kept.begin(9, {"S": {"next": 3, "created": "x"}})
    assert checkpoint_log.position(str(kept.folder)) == Position(9, None)
    kept.end(9)
    kept.begin(10, {"S": {"next": 5, "created": "x"}}, None)
    found = checkpoint_log.position(f"file:{kept.folder}")  # as Java writes a path
    assert found == Position(10, 9, ({"S": {"next": 3, "created": "x"}},))
    assert found.unfinished
    kept.end(10)
    found = checkpoint_log.position(str(kept.folder))
    assert (found.offsets, found.unfinished) == (({"S": {"next": 5, "created": "x"}}, None), False)


@pytest.mark.parametrize("text", ["", "something\nelse", "v1\n{}\nno JSON"])
def test_records_of_another_form_are_an_error(text: str, tmp_path: Path) -> None:
    kept = Checkpoint(tmp_path)
    (kept.folder / "offsets" / "0").write_text(text)
    kept.end(0)
    with pytest.raises(ValueError):
        checkpoint_log.position(str(tmp_path))


@pytest.fixture
def js(serve: Callable[[str], ServerProcess]) -> Iterator[JetStream]:
    with JetStream.of(serve(ALONE)) as api:
        yield api


def loaded(server: ServerProcess, name: str, folder: Path) -> LoadedDocument:
    text = TEXT.replace("SERVER", server.url).replace("NAME", name)
    (folder / "p.yaml").write_text(text)
    return parse(text, folder / "p.yaml")


def test_messages_that_a_source_reads_are_counted(
    serve: Callable[[str], ServerProcess], js: JetStream, unique: str, tmp_path: Path
) -> None:
    document = loaded(serve(ALONE), unique, tmp_path)
    made = js.create(unique, subjects=[f"{unique}.*"], allow_direct=True)["created"]
    js.create(f"{unique}x", subjects=[f"{unique}x"])
    for number in range(10):  # five for each subject
        js.publish(f"{unique}.{'ab'[number % 2]}", b"x")
    js.fill(f"{unique}x", 4)
    kept = Checkpoint(tmp_path / "c" / "files")
    kept.begin(0, {unique: {"next": 4, "created": made}})
    kept.end(0)
    kept.begin(1, {unique: {"next": 9, "created": made}})  # under way: still behind
    found = {(each.sink, each.source): each for each in lag.report(document, str(tmp_path / "c"))}
    assert set(found) == {("files", "orders"), ("joined", "orders"), ("joined", "others")}
    files = found["files", "orders"]
    assert (files.next, files.last, files.behind, files.exact, files.error) == (4, 10, 3, True, "")
    assert files.oldest == js.get(unique, seq=5)["time"]
    for each in (found["joined", "orders"], found["joined", "others"]):
        assert (each.next, each.behind, each.error) == (None, None, lag.NOT_READ)
    js.call(f"STREAM.DELETE.{unique}")
    (gone, *_) = lag.report(document, str(tmp_path / "c"))
    assert (gone.last, gone.error) == (None, lag.GONE)
    js.create(unique, subjects=[f"{unique}.*"])
    (again, *_) = lag.report(document, str(tmp_path / "c"))
    assert (again.next, again.error) == (None, lag.RECREATED)


def test_without_direct_gets_sequences_are_counted(
    serve: Callable[[str], ServerProcess], js: JetStream, unique: str, tmp_path: Path
) -> None:
    document = loaded(serve(ALONE), unique, tmp_path)
    made = js.create(unique, subjects=[f"{unique}.*"])["created"]
    js.fill(f"{unique}.b", 6)
    kept = Checkpoint(tmp_path / "c" / "files")
    kept.begin(0, {unique: {"next": 3, "created": made}})
    kept.end(0)
    (files, *_) = lag.report(document, str(tmp_path / "c"))
    assert (files.behind, files.exact, files.oldest) == (4, False, "")  # none of the four is on its subject
    kept.begin(1, {unique: {"next": 7, "created": made}})
    kept.end(1)
    (files, *_) = lag.report(document, str(tmp_path / "c"))
    assert (files.behind, files.exact) == (0, True)


@pytest.mark.parametrize("implementation", ["pyjs"])
def test_the_command_says_what_it_cannot_ask(
    serve: Callable[[str], ServerProcess], unique: str, tmp_path: Path
) -> None:
    loaded(serve(ALONE), unique, tmp_path)
    cli = Cli(tmp_path)
    records = json.loads(cli.ok("pipeline", "lag", "p.yaml", "--json"))
    assert {each["error"] for each in records} == {lag.GONE}
    assert "there is no such stream any more" in cli.ok("pipeline", "lag", "./p.yaml")
    (tmp_path / "p.yaml").write_text(TEXT.replace("SERVER", "nats://127.0.0.1:9").replace("NAME", "S"))
    records = json.loads(cli.ok("pipeline", "lag", "p.yaml", "--json"))
    assert all("no server can be connected to" in each["error"] for each in records)
    assert "unknown pipeline" in cli.run("pipeline", "lag", "nothing").err or "no pipeline was run" in (
        cli.run("pipeline", "lag", "nothing").err
    )
