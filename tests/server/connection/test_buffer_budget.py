"""Memory that all connections share: who waits when it is short, that everybody comes through, and that who
does not send keeps nobody waiting. On a fake clock.
"""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lib.fake_wire import FakeClient, House
from pyjs.server.config.options import Options

SECOND = 1_000_000_000
TURN = 1_000_000
KIB = 1 << 10
MIB = 1 << 20
READ = 64 * KIB


def house(limit: int = 4 * MIB) -> House:
    return House(Options(max_buffered=limit, max_payload=MIB, max_pending=16 * MIB))


class Sender:
    """A client that sends one message in reads of READ, as far as it is read."""

    def __init__(self, house: House, size: int = MIB) -> None:
        self.client = house.connected()
        self.rest = b"PUB a %d\r\n" % size + b"x" * size + b"\r\n"

    @property
    def waits(self) -> bool:
        return self.client.wire.paused

    def send(self, most: int = READ) -> None:
        if self.rest and not self.waits:
            data, self.rest = self.rest[:most], self.rest[most:]
            self.client.connection.receive(data)


def test_the_newest_wait_and_all_come_through() -> None:
    site = house()
    site.connected().says("SUB a 1\r\n")
    senders = [Sender(site) for _ in range(20)]
    buffered = site.clients.buffered
    for _ in range(200):
        for sender in senders:
            sender.send()
        site.clock.advance(TURN)
        assert buffered.size <= 4 * MIB + 3 * MIB + 20 * READ + MIB
    assert not any(sender.rest for sender in senders)
    assert site.clients.statistics.slow_consumers == 0
    assert buffered.size == 0
    assert not buffered.short
    assert buffered.waits > 0
    assert site.registry.global_account.in_msgs == 20


def test_the_oldest_goes_on_whatever_it_still_brings() -> None:
    site = house(MIB // 2)
    first, second = Sender(site), Sender(site)
    for _ in range(5):
        first.send()
        second.send()
    site.clock.advance(TURN)
    assert site.clients.buffered.short
    assert (first.waits, second.waits) == (False, True)
    while first.rest:
        first.send()
    site.clock.advance(TURN)
    assert not second.waits


def test_small_messages_are_never_waited_for() -> None:
    site = house(MIB // 2)
    held = [Sender(site), Sender(site)]
    for _ in range(5):
        for sender in held:
            sender.send()
    site.clock.advance(TURN)
    assert site.clients.buffered.short
    client = site.connected()
    assert client.says("SUB b 1\r\nPUB b 5000\r\n") == b""
    assert client.says(b"x" * 5000 + b"\r\nPING\r\n").count(b"\r\nPONG\r\n") == 1
    assert not client.wire.paused


def test_who_is_read_on_and_does_not_send_is_closed() -> None:
    site = house()
    stuck = [Sender(site) for _ in range(40)]
    for sender in stuck:
        for _ in range(4):
            sender.send()
    honest = Sender(site)
    honest.send()
    site.clock.advance(TURN)
    assert honest.waits
    seconds = 0
    while honest.rest:
        honest.send()
        site.clock.advance(SECOND // 4)
        seconds += 1
        assert seconds < 4 * 30
    gone = [sender for sender in stuck if sender.client.closed]
    assert gone
    assert {sender.client.closed for sender in gone} == {"Payload Timeout"}
    assert b"-ERR 'Payload Timeout'\r\n" in gone[0].client.read()
    assert not honest.client.closed


def test_who_sends_a_little_all_the_time_is_closed_as_well() -> None:
    site = house()
    slow = [Sender(site) for _ in range(40)]
    for sender in slow:
        for _ in range(4):
            sender.send()
    for _ in range(200):
        for sender in slow:
            sender.send(16)
        site.clock.advance(SECOND // 4)
    assert not site.clients.buffered.short
    assert site.clients.buffered.size <= 4 * MIB


def test_a_closed_connection_counts_no_more() -> None:
    site = house()
    senders = [Sender(site) for _ in range(40)]
    for sender in senders:
        for _ in range(4):
            sender.send()
    site.clock.advance(TURN)
    assert site.clients.buffered.short
    for sender in senders:
        sender.client.connection.lost()
        assert sender.client.connection.parser.held.size == 0
    site.clock.advance(TURN)
    assert site.clients.buffered.size == 0
    assert not site.clients.buffered.short
    site.clock.advance(SECOND)
    assert site.clients.buffered.waiting == 0


def test_producers_wait_while_peers_leave_too_much_unread() -> None:
    site = house()
    consumers = [site.connected() for _ in range(5)]
    for consumer in consumers:
        consumer.says("SUB a 1\r\n")
        consumer.wire.stuck = True
    producer, bystander = site.connected(), site.connected()
    sent = 0
    while not producer.wire.paused:
        publish(producer)
        sent += 1
    assert 4 * MIB < site.clients.buffered.size < 6 * MIB
    assert sent < 30
    assert bystander.says("PING\r\n").startswith(b"PONG\r\n")
    site.clock.advance(SECOND // 2)
    assert producer.wire.paused
    for consumer in consumers:
        consumer.wire.buffered = 0
    site.clock.advance(SECOND // 2)
    assert not producer.wire.paused
    assert site.clients.buffered.size == 0


def test_producers_go_on_when_those_who_do_not_read_are_closed() -> None:
    site = house()
    consumers = [site.connected() for _ in range(5)]
    for consumer in consumers:
        consumer.says("SUB a 1\r\n")
        consumer.wire.stuck = True
    producer = site.connected()
    while not producer.wire.paused:
        publish(producer)
    site.clock.advance(11 * SECOND)
    assert not producer.wire.paused
    assert {consumer.closed for consumer in consumers} == {"Slow Consumer (Write Deadline)"}


def test_a_reload_changes_the_limit() -> None:
    site = house()
    site.reload(Options(max_buffered=MIB))
    assert site.clients.buffered.limit == MIB
    site.reload(Options())
    assert site.clients.buffered.limit > 0


def test_what_waits_for_a_login_counts_but_never_waits() -> None:
    site = House(Options(max_buffered=MIB // 2, max_payload=MIB))
    site.options.authorization.user = "a"
    site.options.authorization.password = "$2a$04$vQAW6qCbpb8aPzuvZ2lZm.wYVWDAoBTEsUZcu6PYcCS/MsYfVvzIe"
    site.reload(site.options)
    client = site.client()
    client.connection.receive(b'CONNECT {"user":"a","pass":"b"}\r\n' + b"x" * READ)
    assert site.clients.buffered.size == READ
    client.connection.lost()
    assert site.clients.buffered.size == 0


@pytest.mark.parametrize("reason", ["stuck", "reads"])
def test_a_closed_connection_keeps_what_it_is_owed_no_longer_than_anything(reason: str) -> None:
    """Its last bytes would otherwise stay for as long as a peer that does not read likes."""
    site = house()
    consumer, producer = site.connected(), site.connected()
    consumer.says("SUB a 1\r\n")
    consumer.wire.stuck = reason == "stuck"
    publish(producer)
    consumer.says("JUNK\r\n")
    assert consumer.wire.closed
    assert not consumer.wire.aborted
    site.clock.advance(11 * SECOND)
    assert consumer.wire.aborted == (reason == "stuck")


@settings(max_examples=40)
@given(st.integers(0, 1 << 32), st.integers(2, 40), st.integers(64 * KIB, 8 * MIB))
def test_whatever_is_sent_in_whatever_order_comes_through(seed: int, count: int, limit: int) -> None:
    dice = random.Random(seed)
    site = house(limit)
    senders = [Sender(site, dice.randrange(1, MIB)) for _ in range(count)]
    bound = limit + limit // 4 * 3 + (count + 1) * READ + MIB
    turns = 0
    while any(sender.rest for sender in senders):
        for sender in dice.sample(senders, dice.randrange(1, count + 1)):
            sender.send(dice.randrange(1, READ))
            assert site.clients.buffered.size <= bound
        site.clock.advance(TURN)
        turns += 1
        assert turns < 100_000
    site.clock.advance(TURN)
    assert site.registry.global_account.in_msgs == count
    assert site.clients.buffered.size == 0
    assert not any(sender.client.closed for sender in senders)


def publish(producer: FakeClient) -> None:
    connection = producer.connection
    connection.receive(b"PUB a 65536\r\n" + b"x" * 65536 + b"\r\n")
    behind = connection.clients.flusher.take_behind()
    if behind:
        connection.stall(behind)
