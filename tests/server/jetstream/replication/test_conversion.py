"""A stream of one server becomes a group's, and one server's again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lib.replicas import CREATED, Member, MemoryLog, applied
from lib.streams import JetStreamFixture
from pyjs.protocol.api.consumer import ConsumerConfig
from pyjs.server.jetstream.consumers import lifecycle
from pyjs.server.jetstream.replication import Replica, entry
from pyjs.server.jetstream.replication.conversion import scale_down, scale_up

SECOND = 1_000_000_000


class Nobody:
    """The owner of the first replica, and a log that only it is in."""

    full = False

    def __init__(self) -> None:
        self.entries: list[bytes] = []
        self.replica: Replica | None = None

    def propose(self, data: Any, done: Any, *, publishes: int = 0) -> None:
        del publishes
        self.entries += data
        assert self.replica is not None
        first = len(self.entries) - len(data) + 1
        applied(self.replica.apply(list(enumerate(data, first)), len(self.entries)))
        done(len(self.entries))

    def replaced(self, replica: Replica) -> None: ...

    def ask(self, replica: Replica, question: bytes, *, another: bool = False) -> None: ...

    def unused(self, consumer: Any) -> None: ...

    def store_failed(self, replica: Replica, error: BaseException) -> None:
        raise error


def pulled(fixture: JetStreamFixture, consumer: str, count: int) -> list[tuple[str, bytes]]:
    got: list[tuple[str, bytes]] = []
    spy = fixture.account.subscribe("in", lambda message: got.append((message.reply, message.body)))
    request = b'{"batch":%d,"no_wait":true}' % count
    fixture.account.publish(f"$JS.API.CONSUMER.MSG.NEXT.S.{consumer}", request, reply="in", own=True)
    fixture.clock.advance(0)
    fixture.account.unsubscribe(spy)
    return [one for one in got if one[0]]


@pytest.mark.parametrize("storage", ["file", "memory"])
def test_there_and_back(tmp_path: Path, storage: str) -> None:
    fixture = JetStreamFixture(str(tmp_path))
    plain = fixture.stream(subjects=["s.*"], storage=storage, duplicate_window=60 * SECOND)
    lifecycle.create(plain, ConsumerConfig(durable_name="c", ack_policy="explicit", ack_wait=SECOND))
    lifecycle.create(plain, ConsumerConfig(durable_name="gone", ack_policy="explicit"))
    for number in range(4):
        fixture.publish("s.a", b"%d" % number, Nats_Msg_Id=f"id{number}")
    plain.removal.delete_message(2, erase=False)
    (ack, _), _ = pulled(fixture, "c", 2)
    fixture.account.publish(ack, b"+ACK", reply="done", own=True)
    used = fixture.js.limits.quota(storage).used

    nobody = Nobody()
    replica = Replica(plain.config, scale_up(plain), plain.context, plain.created, nobody, nobody)
    nobody.replica = replica
    fixture.js.streams["S"] = replica.stream
    replica.lead()
    assert fixture.js.limits.quota(storage).used == used
    assert replica.stream.store.messages == 3
    assert b'"duplicate": true' in fixture.publish("s.a", b"again", Nats_Msg_Id="id1")
    assert fixture.publish("s.b", b"5", Nats_Msg_Id="id5") == b'{"stream":"S","seq":5}'
    fixture.clock.advance(3 * SECOND)
    assert [body for _, body in pulled(fixture, "c", 9)] == [b"2", b"3", b"5"]
    replica.proposals.propose(entry.RemoveConsumer(replica.proposals.now(), "gone"), lambda _: None)
    fixture.clock.advance(SECOND // 10)

    again = scale_down(replica, fixture.js.streams)
    assert fixture.js.streams["S"] is again
    assert sorted(again.consumers) == ["c"]
    assert fixture.js.limits.quota(storage).used == again.store.bytes
    assert fixture.publish("s.b", b"6") == b'{"stream":"S","seq":6}'
    fixture.clock.advance(3 * SECOND)
    assert [body for _, body in pulled(fixture, "c", 9)] == [b"2", b"3", b"5", b"6"]
    if storage == "file":
        fixture.close()
        fixture = JetStreamFixture(str(tmp_path))
        back = fixture.js.lookup("S")
        assert (back.store.messages, back.store.note, sorted(back.consumers)) == (5, b"", ["c"])
    fixture.close()


def test_who_joins_a_group_bootstrapped_over_messages_catches_up_before_it_applies() -> None:
    log = MemoryLog()
    leader = Member(log, {})
    leader.clock.advance(1)
    leader.stream.store.append("s.a", b"", b"before the log", 1)
    log.lead(leader)
    leader.replica.proposals.receive_batch([(b"s.a", b"", 0, 1, b"1\r\n")])
    joined = Member(log, {})
    joined.replica = Replica(
        joined.config,
        joined.store(cut_to_last_commit=True),
        joined.jetstream.context("S"),
        CREATED,
        log,
        joined,
    )
    joined.replica.join()
    joined.catch_up(1)
    assert joined.stream.store.messages == 0
    joined.replica.answered(leader.replica.answer(joined.questions.pop()))
    assert (joined.messages(), joined.encoded_state()) == (leader.messages(), leader.encoded_state())
    assert len(joined.messages()) == 3
