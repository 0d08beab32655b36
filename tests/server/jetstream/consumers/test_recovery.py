"""Consumers on the disk after a restart, a kill, and errors of the disk."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from lib.consumer_fixture import SECOND, ConsumerFixture
from lib.fake_disk import FakeDisk
from pyjs.server.accounts.subscription import Message
from pyjs.server.jetstream.api.table import AccountApi
from pyjs.server.jetstream.consumers.delivery_state import DeliveryState
from pyjs.server.jetstream.consumers.info import describe
from pyjs.server.jetstream.consumers.persistence import repair
from pyjs.store.configs import Storage
from pyjs.store.consumer_state import ConsumerState

FILE = {"storage": "file"}
SETTLE = 200_000_000  # after this long, everything that happened is saved


def make(disk: FakeDisk, **stream: object) -> ConsumerFixture:
    """A server on this disk; the stream S is made or found."""
    directory = Storage("/data", fs=disk).account("A")
    return ConsumerFixture(directory, **{**FILE, **stream})


def again(fixture: ConsumerFixture, disk: FakeDisk, *, graceful: bool) -> ConsumerFixture:
    """Start over from the disk, after a stop or after a kill."""
    if graceful:
        fixture.jetstream.stop()
    else:
        disk.kill()
    return make(disk)


def pulled(fixture: ConsumerFixture, batch: int) -> list[tuple[str, str]]:
    got = fixture.subscribe("inbox")
    fixture.pull(fixture.stream.consumers["C"], f'{{"batch":{batch},"no_wait":true}}')
    messages = [m for m in got.take() if m.reply]
    fixture.messages = messages
    return [(m.body.decode(), m.reply.split(".")[4]) for m in messages]


@pytest.mark.parametrize("graceful", [True, False])
def test_a_durable_goes_on_where_it_was(graceful: bool) -> None:
    disk = FakeDisk()
    fixture = make(disk)
    fixture.consumer(durable_name="C", ack_policy="explicit", ack_wait=5 * SECOND)
    fixture.publish("1", "2", "3", "4")
    pulled(fixture, 3)
    fixture.ack(fixture.messages[0])
    fixture.ack(fixture.messages[2])
    fixture.clock.advance(SETTLE)
    before = describe(fixture.stream.consumers["C"])
    fixture = again(fixture, disk, graceful=graceful)
    after = describe(fixture.stream.consumers["C"])
    assert after.created == before.created
    assert after.config == before.config
    assert (after.delivered.consumer_seq, after.delivered.stream_seq) == (3, 3)
    assert (after.ack_floor.consumer_seq, after.ack_floor.stream_seq) == (1, 1)
    assert (after.num_ack_pending, after.num_pending) == (1, 1)
    assert pulled(fixture, 5) == [("4", "1")]
    fixture.clock.advance(6 * SECOND)
    assert pulled(fixture, 5) == [("2", "2"), ("4", "2")]


def test_an_ack_that_was_answered_survives_a_kill() -> None:
    disk = FakeDisk()
    fixture = make(disk)
    fixture.consumer(durable_name="C", ack_policy="explicit", ack_wait=SECOND)
    fixture.publish(*map(str, range(20)))
    pulled(fixture, 20)
    answers = fixture.subscribe("answer")
    answered = set()
    for message in fixture.messages[::2]:
        fixture.ack(message, reply="answer")
        fixture.clock.advance(0)
        if answers.take():
            answered.add(message.body.decode())
    assert answered
    disk.crash(lambda most: random.Random(3).randint(0, most))
    fixture = make(disk)
    fixture.clock.advance(3 * SECOND)
    assert not answered & {body for body, _ in pulled(fixture, 50)}


def test_an_ack_is_not_answered_when_it_cannot_be_written() -> None:
    disk = FakeDisk()
    fixture = make(disk)
    consumer = fixture.consumer(durable_name="C", ack_policy="explicit")
    fixture.publish("1")
    pulled(fixture, 1)
    fixture.clock.advance(SETTLE)
    answers = fixture.subscribe("answer")
    disk.fail("sync")
    fixture.ack(fixture.messages[0], reply="answer")
    fixture.clock.advance(SETTLE)
    assert answers.take() == []
    assert any("can not be written" in line for line in fixture.log)
    consumer.stop()


def test_a_deleted_consumer_does_not_come_back() -> None:
    disk = FakeDisk()
    fixture = make(disk)
    fixture.consumer(durable_name="C").delete()
    fixture = again(fixture, disk, graceful=False)
    assert fixture.stream.consumers == {}


def test_a_memory_consumer_of_a_file_stream_ends_with_the_server() -> None:
    disk = FakeDisk()
    fixture = make(disk)
    fixture.consumer(durable_name="C", mem_storage=True)
    assert again(fixture, disk, graceful=True).stream.consumers == {}


def test_an_update_and_a_pause_are_kept() -> None:
    disk = FakeDisk()
    fixture = make(disk)
    fixture.consumer(durable_name="C", ack_policy="explicit")
    fixture.consumer(durable_name="C", ack_policy="explicit", description="new", filter_subject="s.x")
    fixture = again(fixture, disk, graceful=False)
    config = fixture.stream.consumers["C"].config
    assert (config.description, config.filter_subject) == ("new", "s.x")


@pytest.mark.parametrize("graceful", [True, False])
def test_what_was_delivered_under_other_filters_before_a_restart_is_not_waited_for(graceful: bool) -> None:
    disk = FakeDisk()
    fixture = make(disk)
    fixture.consumer(durable_name="C", ack_policy="explicit", filter_subject="s.1")
    fixture.publish("one")
    assert pulled(fixture, 1) == [("one", "1")]
    fixture.consumer(durable_name="C", ack_policy="explicit", filter_subject="s.2")
    fixture.clock.advance(SETTLE)
    fixture = again(fixture, disk, graceful=graceful)
    consumer = fixture.stream.consumers["C"]
    assert describe(consumer).num_ack_pending == 1
    assert fixture.stream.removal.delete_message(1, erase=False)
    assert describe(consumer).num_ack_pending == 0


CONSUMER = "/data/jetstream/A/streams/S/consumers/C"


@pytest.mark.parametrize("name", ["meta.json", "meta.json.copy", "state", "state.copy"])
def test_one_damaged_file_of_a_consumer_is_repaired_and_reported(name: str) -> None:
    disk = FakeDisk()
    fixture = make(disk)
    fixture.consumer(durable_name="C", ack_policy="explicit")
    fixture.publish("1", "2", "3")
    pulled(fixture, 3)
    fixture.ack(fixture.messages[0])
    fixture = again(fixture, disk, graceful=True)
    fixture.jetstream.stop()
    disk.flip(f"{CONSUMER}/{name}", 40)
    fixture = make(disk)
    info = describe(fixture.stream.consumers["C"])
    assert (info.delivered.stream_seq, info.ack_floor.stream_seq) == (3, 1)
    assert any("'A > S > C'" in line and f"{CONSUMER}/{name}" in line for line in fixture.log)
    fixture = again(fixture, disk, graceful=False)
    assert not any(CONSUMER in line for line in fixture.log)


@pytest.mark.parametrize("name", ["meta.json", "state"])
def test_a_consumer_that_cannot_be_read_is_offline_until_it_is_deleted(name: str) -> None:
    disk = FakeDisk()
    fixture = make(disk, retention="interest")
    fixture.consumer(durable_name="C", ack_policy="explicit")
    fixture.consumer(durable_name="D", ack_policy="explicit")
    fixture.publish("1", "2")
    fixture.jetstream.stop()
    for path in (f"{CONSUMER}/{name}", f"{CONSUMER}/{name}.copy"):
        disk.flip(path, 40)
    fixture = make(disk, retention="interest")
    assert list(fixture.stream.consumers) == ["D"]
    assert any("'A > S > C' is offline" in line for line in fixture.log)
    api = AccountApi(fixture.jetstream)
    api.start()
    assert call(fixture, "CONSUMER.INFO.S.C")["error"]["err_code"] == 10195
    wanted = {"stream_name": "S", "config": {"durable_name": "C", "ack_policy": "explicit"}}
    assert call(fixture, "CONSUMER.CREATE.S.C", wanted)["error"]["err_code"] == 10195
    assert list(call(fixture, "CONSUMER.LIST.S")["offline"]) == ["C"]
    for message in pull_all(fixture, "D"):
        fixture.ack(message)
    fixture.clock.advance(SETTLE)
    assert fixture.stream.store.messages == 2  # what C wants is not known
    assert disk.exists(f"{CONSUMER}/{name}")
    assert call(fixture, "CONSUMER.DELETE.S.C")["success"]
    assert fixture.stream.store.messages == 0
    assert call(fixture, "CONSUMER.CREATE.S.C", wanted)["name"] == "C"
    api.stop()


def call(fixture: ConsumerFixture, suffix: str, body: object = None) -> dict[str, Any]:
    """One API call; gives the answer."""
    got = fixture.subscribe("answer")
    data = b"" if body is None else json.dumps(body).encode()
    fixture.account.publish(f"$JS.API.{suffix}", data, reply="answer", own=True)
    fixture.clock.advance(0)
    return dict(json.loads(got.take()[0].body))


def pull_all(fixture: ConsumerFixture, name: str) -> list[Message]:
    got = fixture.subscribe("inbox")
    fixture.pull(fixture.stream.consumers[name], '{"batch":50,"no_wait":true}')
    return [message for message in got.take() if message.reply]


def test_a_state_past_its_stream_is_brought_back_with_a_word_in_the_log() -> None:
    delivery_state = DeliveryState(track=True, ack_wait=SECOND)
    delivery_state.restore(
        ConsumerState((9, 90), (5, 50), {60: (6, 1), 70: (7, 1), 80: (8, 1), 90: (9, 1)}, {60: 1, 90: 2}),
        now=SECOND,
    )
    said = repair(delivery_state, 65, 75)
    assert said
    assert delivery_state.stream_seq == 75
    assert set(delivery_state.pending) == {70}
    assert delivery_state.floor_stream <= 69
    assert delivery_state.redelivered == {}


def test_a_state_that_fits_its_stream_is_left_as_it_is() -> None:
    delivery_state = DeliveryState(track=True, ack_wait=SECOND)
    state = ConsumerState((9, 90), (5, 59), {60: (6, 1), 70: (7, 1)}, {60: 1})
    delivery_state.restore(state, SECOND)
    assert repair(delivery_state, 1, 100) == []
    assert delivery_state.state() == state


def test_a_restart_does_not_acknowledge_what_was_given_up() -> None:
    delivery_state = DeliveryState(track=True, ack_wait=SECOND)
    state = ConsumerState((10, 5), (1, 1), {}, {2: 1, 3: 1, 4: 1, 5: 1})
    delivery_state.restore(state, SECOND)
    assert repair(delivery_state, 1, 5) == []
    assert delivery_state.state() == state


def test_a_damaged_message_is_passed_by_with_a_word_in_the_log(tmp_path: Path) -> None:
    directory = Storage(str(tmp_path)).account("A")
    fixture = ConsumerFixture(directory, **FILE)
    fixture.publish("first", "second", "third")
    fixture.jetstream.stop()
    (block,) = (path for path in tmp_path.rglob("*") if path.is_file() and b"second" in path.read_bytes())
    data = bytearray(block.read_bytes())
    data[data.index(b"second")] ^= 1
    block.write_bytes(data)
    fixture = ConsumerFixture(directory, **FILE)
    fixture.consumer(durable_name="C", ack_policy="explicit")
    assert [body for body, _ in pulled(fixture, 5)] == ["first", "third"]
    assert describe(fixture.stream.consumers["C"]).num_pending == 0
    assert any("message 2" in line for line in fixture.log) or fixture.stream.store.damaged() == [2]
    fixture.jetstream.stop()
