"""Streams with `compression: s2`: what is accepted and shown, and that full blocks take less room."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from lib.eventually import eventually
from lib.jetstream import ApiFailureError, JetStream
from lib.process import ServerProcess

Launch = Callable[[str], ServerProcess]
WORDS = b"words that are alike, " * 5000  # 110 kB
COUNT = 250


def stored(server: ServerProcess) -> int:
    return sum(path.stat().st_size for path in (server.directory / "store").rglob("*.blk"))


@pytest.mark.parametrize("storage", ["file", "memory"])
def test_it_is_accepted_shown_and_edited(js: JetStream, unique: str, storage: str) -> None:
    config = js.create(unique, subjects=[unique], storage=storage, compression="s2")["config"]
    assert config["compression"] == "s2"
    js.publish(unique, b"x" * 1000)
    bytes_stored = js.state(unique)["bytes"]
    for compression in ("none", "s2"):
        changed = js.call(f"STREAM.UPDATE.{unique}", {**config, "compression": compression})
        assert changed["config"]["compression"] == compression
    js.publish(unique, b"x" * 1000)
    assert js.state(unique)["bytes"] == 2 * bytes_stored
    assert (
        js.create(f"{unique}N", subjects=[f"{unique}N"], storage=storage)["config"]["compression"] == "none"
    )


def test_an_algorithm_that_nobody_knows_is_refused(js: JetStream, unique: str) -> None:
    with pytest.raises(ApiFailureError) as refused:
        js.create(unique, subjects=[unique], compression="gzip")
    assert refused.value.err_code == 10025


@pytest.mark.parametrize("options", ["", ", key: k"], ids=["in the clear", "encrypted"])
def test_full_blocks_take_less_room_and_are_served_as_before(launch: Launch, options: str) -> None:
    server = launch(f'listen: 127.0.0.1:<client>\njetstream {{ store_dir: "<store>"{options} }}\n')
    with JetStream.of(server) as js:
        js.create("S", subjects=["s"], storage="file", compression="s2")
        for number in range(COUNT):
            js.publish("s", b"%06d " % number + WORDS)
        size = js.state("S")["bytes"]
        eventually(lambda: stored(server) < size * 2 / 3)
        before = [js.get("S", seq=seq) for seq in (1, COUNT // 2, COUNT)]
    server.crash()
    server.launch()
    with JetStream.of(server) as js:
        assert [js.get("S", seq=seq) for seq in (1, COUNT // 2, COUNT)] == before
        assert js.state("S")["bytes"] == size
        assert js.publish("s", b"later")["seq"] == COUNT + 1
        js.call("STREAM.MSG.DELETE.S", {"seq": 2})
        js.consumer("S", "C")
        assert [m.reply.split(".")[5] for m in js.pull("S", "C", 3)[0]] == ["1", "3", "4"]
    server.end()
    if options:
        assert not [p for p in (server.directory / "store").rglob("*.blk") if b"alike" in p.read_bytes()]
