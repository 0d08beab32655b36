"""Consumers on the disk: what a restart, a kill and a failing disk leave of them."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from lib.consumer_fixture import SECOND, Rig
from lib.fake_disk import FakeDisk
from pyjs.server.accounts.message import Message
from pyjs.server.jetstream.api.table import AccountApi
from pyjs.server.jetstream.consumers.delivery_state import DeliveryState
from pyjs.server.jetstream.consumers.repair import repair
from pyjs.store.configs import Storage
from pyjs.store.consumer_state import ConsumerState

FILE = {"storage": "file"}
SETTLE = 200_000_000  # after this long, everything that happened is saved


def make(disk: FakeDisk, **stream: object) -> Rig:
    """A server on this disk; the stream S is made or found."""
    directory = Storage("/data", fs=disk).account("A")
    return Rig(directory, **{**FILE, **stream})


def again(rig: Rig, disk: FakeDisk, *, graceful: bool) -> Rig:
    """Start over from the disk, after a stop or after a kill."""
    if graceful:
        rig.jetstream.stop()
    else:
        disk.kill()
    return make(disk)


def pulled(rig: Rig, batch: int) -> list[tuple[str, str]]:
    got = rig.hear("inbox")
    rig.pull(rig.stream.consumers["C"], f'{{"batch":{batch},"no_wait":true}}')
    messages = [m for m in got.take() if m.reply]
    rig.messages = messages
    return [(m.body.decode(), m.reply.split(".")[4]) for m in messages]


@pytest.mark.parametrize("graceful", [True, False])
def test_a_durable_goes_on_where_it_was(graceful: bool) -> None:
    disk = FakeDisk()
    rig = make(disk)
    rig.consumer(durable_name="C", ack_policy="explicit", ack_wait=5 * SECOND)
    rig.publish("1", "2", "3", "4")
    pulled(rig, 3)
    rig.ack(rig.messages[0])
    rig.ack(rig.messages[2])
    rig.clock.advance(SETTLE)
    before = rig.stream.consumers["C"].info()
    rig = again(rig, disk, graceful=graceful)
    after = rig.stream.consumers["C"].info()
    assert after.created == before.created
    assert after.config == before.config
    assert (after.delivered.consumer_seq, after.delivered.stream_seq) == (3, 3)
    assert (after.ack_floor.consumer_seq, after.ack_floor.stream_seq) == (1, 1)
    assert (after.num_ack_pending, after.num_pending) == (1, 1)
    assert pulled(rig, 5) == [("4", "1")]
    rig.clock.advance(6 * SECOND)
    assert pulled(rig, 5) == [("2", "2"), ("4", "2")]


def test_an_ack_that_was_answered_survives_a_kill() -> None:
    disk = FakeDisk()
    rig = make(disk)
    rig.consumer(durable_name="C", ack_policy="explicit", ack_wait=SECOND)
    rig.publish(*map(str, range(20)))
    pulled(rig, 20)
    answers = rig.hear("answer")
    answered = set()
    for message in rig.messages[::2]:
        rig.ack(message, reply="answer")
        rig.clock.advance(0)
        if answers.take():
            answered.add(message.body.decode())
    assert answered
    disk.crash(lambda most: random.Random(3).randint(0, most))
    rig = make(disk)
    rig.clock.advance(3 * SECOND)
    assert not answered & {body for body, _ in pulled(rig, 50)}


def test_an_ack_is_not_answered_when_it_cannot_be_written() -> None:
    disk = FakeDisk()
    rig = make(disk)
    consumer = rig.consumer(durable_name="C", ack_policy="explicit")
    rig.publish("1")
    pulled(rig, 1)
    rig.clock.advance(SETTLE)
    answers = rig.hear("answer")
    disk.fail("sync")
    rig.ack(rig.messages[0], reply="answer")
    rig.clock.advance(SETTLE)
    assert answers.take() == []
    assert any("can not be written" in line for line in rig.log)
    consumer.stop()


def test_a_deleted_consumer_does_not_come_back() -> None:
    disk = FakeDisk()
    rig = make(disk)
    rig.consumer(durable_name="C").delete()
    rig = again(rig, disk, graceful=False)
    assert rig.stream.consumers == {}


def test_a_memory_consumer_of_a_file_stream_ends_with_the_server() -> None:
    disk = FakeDisk()
    rig = make(disk)
    rig.consumer(durable_name="C", mem_storage=True)
    assert again(rig, disk, graceful=True).stream.consumers == {}


def test_an_update_and_a_pause_are_kept() -> None:
    disk = FakeDisk()
    rig = make(disk)
    rig.consumer(durable_name="C", ack_policy="explicit")
    rig.consumer(durable_name="C", ack_policy="explicit", description="new", filter_subject="s.x")
    rig = again(rig, disk, graceful=False)
    config = rig.stream.consumers["C"].config
    assert (config.description, config.filter_subject) == ("new", "s.x")


@pytest.mark.parametrize("graceful", [True, False])
def test_what_was_delivered_under_other_filters_before_a_restart_is_not_waited_for(graceful: bool) -> None:
    disk = FakeDisk()
    rig = make(disk)
    rig.consumer(durable_name="C", ack_policy="explicit", filter_subject="s.1")
    rig.publish("one")
    assert pulled(rig, 1) == [("one", "1")]
    rig.consumer(durable_name="C", ack_policy="explicit", filter_subject="s.2")
    rig.clock.advance(SETTLE)
    rig = again(rig, disk, graceful=graceful)
    consumer = rig.stream.consumers["C"]
    assert consumer.info().num_ack_pending == 1
    assert rig.stream.delete_message(1, erase=False)
    assert consumer.info().num_ack_pending == 0


CONSUMER = "/data/jetstream/A/streams/S/consumers/C"


@pytest.mark.parametrize("name", ["meta.json", "meta.json.copy", "state", "state.copy"])
def test_one_damaged_file_of_a_consumer_is_mended_and_told(name: str) -> None:
    disk = FakeDisk()
    rig = make(disk)
    rig.consumer(durable_name="C", ack_policy="explicit")
    rig.publish("1", "2", "3")
    pulled(rig, 3)
    rig.ack(rig.messages[0])
    rig = again(rig, disk, graceful=True)
    rig.jetstream.stop()
    disk.flip(f"{CONSUMER}/{name}", 40)
    rig = make(disk)
    info = rig.stream.consumers["C"].info()
    assert (info.delivered.stream_seq, info.ack_floor.stream_seq) == (3, 1)
    assert any("'A > S > C'" in line and f"{CONSUMER}/{name}" in line for line in rig.log)
    rig = again(rig, disk, graceful=False)
    assert not any(CONSUMER in line for line in rig.log)


@pytest.mark.parametrize("name", ["meta.json", "state"])
def test_a_consumer_that_cannot_be_read_is_offline_until_it_is_deleted(name: str) -> None:
    disk = FakeDisk()
    rig = make(disk, retention="interest")
    rig.consumer(durable_name="C", ack_policy="explicit")
    rig.consumer(durable_name="D", ack_policy="explicit")
    rig.publish("1", "2")
    rig.jetstream.stop()
    for path in (f"{CONSUMER}/{name}", f"{CONSUMER}/{name}.copy"):
        disk.flip(path, 40)
    rig = make(disk, retention="interest")
    assert list(rig.stream.consumers) == ["D"]
    assert any("'A > S > C' is offline" in line for line in rig.log)
    api = AccountApi(rig.jetstream)
    api.start()
    assert call(rig, "CONSUMER.INFO.S.C")["error"]["err_code"] == 10195
    wanted = {"stream_name": "S", "config": {"durable_name": "C", "ack_policy": "explicit"}}
    assert call(rig, "CONSUMER.CREATE.S.C", wanted)["error"]["err_code"] == 10195
    assert list(call(rig, "CONSUMER.LIST.S")["offline"]) == ["C"]
    for message in pull_all(rig, "D"):
        rig.ack(message)
    rig.clock.advance(SETTLE)
    assert rig.stream.store.messages == 2  # what C wants cannot be told
    assert disk.exists(f"{CONSUMER}/{name}")
    assert call(rig, "CONSUMER.DELETE.S.C")["success"]
    assert rig.stream.store.messages == 0
    assert call(rig, "CONSUMER.CREATE.S.C", wanted)["name"] == "C"
    api.stop()


def call(rig: Rig, suffix: str, body: object = None) -> dict[str, Any]:
    """One API call; gives the answer."""
    got = rig.hear("answer")
    data = b"" if body is None else json.dumps(body).encode()
    rig.account.publish(f"$JS.API.{suffix}", data, reply="answer", own=True)
    rig.clock.advance(0)
    return dict(json.loads(got.take()[0].body))


def pull_all(rig: Rig, name: str) -> list[Message]:
    got = rig.hear("inbox")
    rig.pull(rig.stream.consumers[name], '{"batch":50,"no_wait":true}')
    return [message for message in got.take() if message.reply]


def test_a_state_past_its_stream_is_brought_back_with_a_word_in_the_log() -> None:
    ledger = DeliveryState(track=True, ack_wait=SECOND)
    ledger.restore(
        ConsumerState((9, 90), (5, 50), {60: (6, 1), 70: (7, 1), 80: (8, 1), 90: (9, 1)}, {60: 1, 90: 2}),
        now=SECOND,
    )
    said = repair(ledger, 65, 75)
    assert said
    assert ledger.stream_seq == 75
    assert set(ledger.pending) == {70}
    assert ledger.floor_stream <= 69
    assert ledger.redelivered == {}


def test_a_state_that_fits_its_stream_is_left_as_it_is() -> None:
    ledger = DeliveryState(track=True, ack_wait=SECOND)
    state = ConsumerState((9, 90), (5, 59), {60: (6, 1), 70: (7, 1)}, {60: 1})
    ledger.restore(state, SECOND)
    assert repair(ledger, 1, 100) == []
    assert ledger.state() == state


def test_a_damaged_message_is_passed_by_with_a_word_in_the_log(tmp_path: Path) -> None:
    directory = Storage(str(tmp_path)).account("A")
    rig = Rig(directory, **FILE)
    rig.publish("first", "second", "third")
    rig.jetstream.stop()
    (block,) = (path for path in tmp_path.rglob("*") if path.is_file() and b"second" in path.read_bytes())
    data = bytearray(block.read_bytes())
    data[data.index(b"second")] ^= 1
    block.write_bytes(data)
    rig = Rig(directory, **FILE)
    rig.consumer(durable_name="C", ack_policy="explicit")
    assert [body for body, _ in pulled(rig, 5)] == ["first", "third"]
    assert rig.stream.consumers["C"].info().num_pending == 0
    assert any("message 2" in line for line in rig.log) or rig.stream.store.damaged() == [2]
    rig.jetstream.stop()
