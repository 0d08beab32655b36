"""Atomic batches without a server: what a power cut leaves of one, memory, and what ends with the stream."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from lib.examples import seeds
from lib.fake_disk import PowerCut
from lib.sealed_disk import disk_of
from lib.streams import JetStreamFixture
from pyjs.protocol import headers
from pyjs.server.jetstream.host import BatchCapacity
from pyjs.store.message import numbered

SECOND = 1_000_000_000


def send(fixture: JetStreamFixture, place: int, body: bytes = b"x", batch: str = "b", **more: str) -> Any:
    """Send one message of a batch; return the answer, or the error's code."""
    given = {"Nats_Batch_Id": batch, "Nats_Batch_Sequence": str(place)} | more
    answer = fixture.publish("s.a", body, **given)
    document = json.loads(answer) if answer else {}
    return document["error"]["err_code"] if "error" in document else document


@seeds(60)
def test_a_power_cut_leaves_all_of_a_batch_or_nothing(seed: int) -> None:
    rng, disk = Random(seed), disk_of(seed)
    first = JetStreamFixture("/js", fs=disk)
    more: dict[str, Any] = {
        "allow_atomic": True,
        "allow_rollup_hdrs": True,
        "max_msgs_per_subject": rng.choice([-1, 60]),
    }
    first.stream(subjects=["s.*"], storage="file", **more)
    for number in range(1, 6):
        first.publish("s.old", b"%d" % number)
    size, count = rng.choice([10, 200_000]), rng.choice([2, 8, 50])
    rolls_up = rng.random() < 0.3
    for place in range(1, count):
        rollup: dict[str, Any] = {"Nats_Rollup": "all"} if rolls_up and place == 1 else {}
        send(first, place, b"x" * size, Nats_Msg_Id=f"id{place}", **rollup)
    disk.cut_after(rng.randrange(12))
    answer: Any = {}
    try:
        answer = send(first, count, Nats_Batch_Commit="1")
        first.publish("s.old", b"6")
    except PowerCut:
        pass
    disk.crash(lambda most: rng.randint(0, most))
    again = JetStreamFixture("/js", fs=disk)
    stream = again.js.lookup("S")
    found = [message.subject for message in again.messages(stream)]
    assert stream.store.damaged() == []
    of_batch = found.count("s.a")
    assert of_batch in ({count} if answer else {0, count})
    assert found.count("s.old") >= 5 or (rolls_up and of_batch)
    if not of_batch:  # the batch may be sent again
        for place in range(1, count + 1):
            commit: dict[str, Any] = {"Nats_Batch_Commit": "1"} if place == count else {}
            answer = send(again, place, Nats_Msg_Id=f"id{place}", **commit)
        assert answer["count"] == count
    again.close()


def test_a_batch_of_which_the_end_was_removed_stays(fixture: JetStreamFixture) -> None:
    stream = fixture.stream(subjects=["s.*"], storage="file", allow_atomic=True)
    send(fixture, 1)
    send(fixture, 2, Nats_Batch_Commit="1")
    assert fixture.call("STREAM.MSG.DELETE.S", {"seq": 2})["success"]
    fixture.close()
    fixture.open()
    stream = fixture.js.lookup("S")
    assert (stream.store.messages, stream.store.last_seq) == (1, 2)


def test_only_the_batch_at_the_end_is_dropped(fixture: JetStreamFixture) -> None:
    stream = fixture.stream(subjects=["s.*"], storage="file", allow_atomic=True)
    for name, places in (("whole", (1, 2)), ("torn", (1, 2, 3))):
        for place in places:
            block = {
                "Nats-Batch-Id": name,
                "Nats-Batch-Sequence": str(place),
                "Nats-Msg-Id": f"{name}{place}",
            }
            if (name, place) == ("whole", 2):
                block["Nats-Batch-Commit"] = "1"
            stream.store.append("s.a", headers.encode(block), b"", fixture.clock.now())
    fixture.close()
    fixture.open()
    stream = fixture.js.lookup("S")
    assert (stream.store.messages, stream.store.last_seq) == (2, 5)
    assert b"duplicate" not in fixture.publish("s.a", Nats_Msg_Id="torn1")
    assert b"duplicate" in fixture.publish("s.a", Nats_Msg_Id="whole1")


def test_what_waits_is_bounded_in_bytes(fixture: JetStreamFixture) -> None:
    capacity = fixture.host.batches = BatchCapacity(max_batch_bytes=1000, max_bytes=2500)
    stream = fixture.stream(subjects=["s.*"], allow_atomic=True)
    assert send(fixture, 1, b"x" * 800) == {}
    assert send(fixture, 2, b"x" * 800) == 10210
    assert (capacity.open, capacity.bytes) == (0, 0)
    for name in "abc":
        assert send(fixture, 1, b"x" * 700, name) == {}
    assert send(fixture, 1, b"x" * 700, "d") == 10210
    assert capacity.open == 3
    for name in "abc":
        assert send(fixture, 2, b"", name, Nats_Batch_Commit="1")["count"] == 2
    assert (capacity.open, capacity.bytes) == (0, 0)
    assert stream.store.messages == 6


@pytest.mark.parametrize("end", ["delete", "stop", "forbid"])
def test_open_batches_end_with_the_stream(fixture: JetStreamFixture, end: str) -> None:
    stream = fixture.stream(subjects=["s.*"], allow_atomic=True)
    send(fixture, 1)
    assert fixture.host.batches.open == 1
    if end == "forbid":
        fixture.call("STREAM.UPDATE.S", stream.config.to_json() | {"allow_atomic": False})
    else:
        getattr(stream, end)()
    assert (fixture.host.batches.open, fixture.host.batches.bytes) == (0, 0)


def test_a_batch_lasts_as_long_as_something_is_added(fixture: JetStreamFixture) -> None:
    fixture.stream(subjects=["s.*"], allow_atomic=True)
    for place in (1, 2, 3):
        assert send(fixture, place) == {}
        fixture.clock.advance(9 * SECOND)
    assert send(fixture, 4, Nats_Batch_Commit="1")["count"] == 4
    send(fixture, 1)
    fixture.clock.advance(10 * SECOND)
    assert send(fixture, 2) == 10176


def test_large_rollups_answer_when_they_are_done(fixture: JetStreamFixture) -> None:
    stream = fixture.stream(subjects=["s.*"], allow_atomic=True, allow_rollup_hdrs=True)
    messages = [("s.a", b"", b"")] * 5000 + [("s.b", b"", b"")] * 5000
    stream.store.append_each(*numbered(messages, stream.store.last_seq + 1, fixture.clock.now()))
    fixture.publish("s.b", Nats_Batch_Id="b", Nats_Batch_Sequence="1", Nats_Rollup="sub")
    send(fixture, 2, Nats_Rollup="sub", Nats_Batch_Commit="1")
    fixture.clock.advance(SECOND)
    assert fixture.subjects(stream) == ["s.b", "s.a"]
