"""Memory that all connections share: which ones wait when it is short, and that all of them come through.

A connection that does not send delays nobody. On a fake clock.
"""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lib.examples import one_in
from lib.fake_wire import ClientsFixture, FakeClient
from pyjs.server.config.options import Options

SECOND = 1_000_000_000
TURN = 1_000_000
KIB = 1 << 10
MIB = 1 << 20
READ = 64 * KIB


def fixture(limit: int = 4 * MIB) -> ClientsFixture:
    return ClientsFixture(Options(max_buffered=limit, max_payload=MIB, max_pending=16 * MIB))


class Sender:
    """A client that sends one message in reads of READ, as far as it is read."""

    def __init__(self, fixture: ClientsFixture, size: int = MIB) -> None:
        self.client = fixture.connected()
        self.rest = b"PUB a %d\r\n" % size + b"x" * size + b"\r\n"

    @property
    def waits(self) -> bool:
        return self.client.wire.paused

    def send(self, most: int = READ) -> None:
        if self.rest and not self.waits:
            data, self.rest = self.rest[:most], self.rest[most:]
            self.client.connection.receive(data)


def test_the_newest_wait_and_all_come_through() -> None:
    env = fixture()
    env.connected().says("SUB a 1\r\n")
    senders = [Sender(env) for _ in range(20)]
    buffer_budget = env.clients.buffer_budget
    for _ in range(200):
        for sender in senders:
            sender.send()
        env.clock.advance(TURN)
        assert buffer_budget.size <= 4 * MIB + 3 * MIB + 20 * READ + MIB
    assert not any(sender.rest for sender in senders)
    assert env.clients.statistics.slow_consumers == 0
    assert buffer_budget.size == 0
    assert not buffer_budget.short
    assert buffer_budget.waits > 0
    assert env.registry.global_account.in_msgs == 20


def test_the_oldest_goes_on_whatever_it_still_brings() -> None:
    env = fixture(MIB // 2)
    first, second = Sender(env), Sender(env)
    for _ in range(5):
        first.send()
        second.send()
    env.clock.advance(TURN)
    assert env.clients.buffer_budget.short
    assert (first.waits, second.waits) == (False, True)
    while first.rest:
        first.send()
    env.clock.advance(TURN)
    assert not second.waits


def test_small_messages_are_never_waited_for() -> None:
    env = fixture(MIB // 2)
    senders = [Sender(env), Sender(env)]
    for _ in range(5):
        for sender in senders:
            sender.send()
    env.clock.advance(TURN)
    assert env.clients.buffer_budget.short
    client = env.connected()
    assert client.says("SUB b 1\r\nPUB b 5000\r\n") == b""
    assert client.says(b"x" * 5000 + b"\r\nPING\r\n").count(b"\r\nPONG\r\n") == 1
    assert not client.wire.paused


def test_who_is_read_on_and_does_not_send_is_closed() -> None:
    env = fixture()
    stuck = [Sender(env) for _ in range(40)]
    for sender in stuck:
        for _ in range(4):
            sender.send()
    honest = Sender(env)
    honest.send()
    env.clock.advance(TURN)
    assert honest.waits
    seconds = 0
    while honest.rest:
        honest.send()
        env.clock.advance(SECOND // 4)
        seconds += 1
        assert seconds < 4 * 30
    gone = [sender for sender in stuck if sender.client.closed]
    assert gone
    assert {sender.client.closed for sender in gone} == {"Payload Timeout"}
    assert b"-ERR 'Payload Timeout'\r\n" in gone[0].client.read()
    assert not honest.client.closed


def test_who_sends_a_little_all_the_time_is_closed_as_well() -> None:
    env = fixture()
    slow = [Sender(env) for _ in range(40)]
    for sender in slow:
        for _ in range(4):
            sender.send()
    for _ in range(200):
        for sender in slow:
            sender.send(16)
        env.clock.advance(SECOND // 4)
    assert not env.clients.buffer_budget.short
    assert env.clients.buffer_budget.size <= 4 * MIB


def test_a_closed_connection_counts_no_more() -> None:
    env = fixture()
    senders = [Sender(env) for _ in range(40)]
    for sender in senders:
        for _ in range(4):
            sender.send()
    env.clock.advance(TURN)
    assert env.clients.buffer_budget.short
    for sender in senders:
        sender.client.connection.lost()
        assert sender.client.connection.parser.buffer.size == 0
    env.clock.advance(TURN)
    assert env.clients.buffer_budget.size == 0
    assert not env.clients.buffer_budget.short
    env.clock.advance(SECOND)
    assert env.clients.buffer_budget.waiting == 0


def test_producers_wait_while_peers_leave_too_much_unread() -> None:
    env = fixture()
    consumers = [env.connected() for _ in range(5)]
    for consumer in consumers:
        consumer.says("SUB a 1\r\n")
        consumer.wire.stuck = True
    producer, bystander = env.connected(), env.connected()
    sent = 0
    while not producer.wire.paused:
        publish(producer)
        sent += 1
    assert 4 * MIB < env.clients.buffer_budget.size < 6 * MIB
    assert sent < 30
    assert bystander.says("PING\r\n").startswith(b"PONG\r\n")
    env.clock.advance(SECOND // 2)
    assert producer.wire.paused
    for consumer in consumers:
        consumer.wire.buffered = 0
    env.clock.advance(SECOND // 2)
    assert not producer.wire.paused
    assert env.clients.buffer_budget.size == 0


def test_producers_go_on_when_those_who_do_not_read_are_closed() -> None:
    env = fixture()
    consumers = [env.connected() for _ in range(5)]
    for consumer in consumers:
        consumer.says("SUB a 1\r\n")
        consumer.wire.stuck = True
    producer = env.connected()
    while not producer.wire.paused:
        publish(producer)
    env.clock.advance(11 * SECOND)
    assert not producer.wire.paused
    assert {consumer.closed for consumer in consumers} == {"Slow Consumer (Write Deadline)"}


def test_a_reload_changes_the_limit() -> None:
    env = fixture()
    env.reload(Options(max_buffered=MIB))
    assert env.clients.buffer_budget.limit == MIB
    env.reload(Options())
    assert env.clients.buffer_budget.limit > 0


def test_what_waits_for_a_login_counts_but_never_waits() -> None:
    env = ClientsFixture(Options(max_buffered=MIB // 2, max_payload=MIB))
    env.options.authorization.user = "a"
    env.options.authorization.password = "$2a$04$vQAW6qCbpb8aPzuvZ2lZm.wYVWDAoBTEsUZcu6PYcCS/MsYfVvzIe"
    env.reload(env.options)
    client = env.client()
    client.connection.receive(b'CONNECT {"user":"a","pass":"b"}\r\n' + b"x" * READ)
    assert env.clients.buffer_budget.size == READ
    client.connection.lost()
    assert env.clients.buffer_budget.size == 0


@pytest.mark.parametrize("reason", ["stuck", "reads"])
def test_a_closed_connection_keeps_what_it_is_owed_no_longer_than_anything(reason: str) -> None:
    """Its last bytes would otherwise stay for as long as a peer that does not read likes."""
    env = fixture()
    consumer, producer = env.connected(), env.connected()
    consumer.says("SUB a 1\r\n")
    consumer.wire.stuck = reason == "stuck"
    publish(producer)
    consumer.says("JUNK\r\n")
    assert consumer.wire.closed
    assert not consumer.wire.aborted
    env.clock.advance(11 * SECOND)
    assert consumer.wire.aborted == (reason == "stuck")


@one_in(2)
@given(st.integers(0, 1 << 32), st.integers(2, 40), st.integers(64 * KIB, 8 * MIB))
def test_whatever_is_sent_in_whatever_order_comes_through(seed: int, count: int, limit: int) -> None:
    rng = random.Random(seed)
    env = fixture(limit)
    senders = [Sender(env, rng.randrange(1, MIB)) for _ in range(count)]
    bound = limit + limit // 4 * 3 + (count + 1) * READ + MIB
    turns = 0
    while any(sender.rest for sender in senders):
        for sender in rng.sample(senders, rng.randrange(1, count + 1)):
            sender.send(rng.randrange(1, READ))
            assert env.clients.buffer_budget.size <= bound
        env.clock.advance(TURN)
        turns += 1
        assert turns < 100_000
    env.clock.advance(TURN)
    assert env.registry.global_account.in_msgs == count
    assert env.clients.buffer_budget.size == 0
    assert not any(sender.client.closed for sender in senders)


def publish(producer: FakeClient) -> None:
    connection = producer.connection
    connection.receive(b"PUB a 65536\r\n" + b"x" * 65536 + b"\r\n")
    stalled = connection.context.flusher.take_stalled()
    if stalled:
        connection.stall(stalled)
