"""Peers that do not read: pending bytes, write deadline, stalled producers; and pings."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from lib.fake_wire import ClientsFixture, FakeClient
from pyjs.protocol.wire.ops import Op
from pyjs.server.config.options import Options

SECOND = 1_000_000_000
BODY = b"PUB a 1000\r\n" + b"x" * 1000 + b"\r\n"


@pytest.fixture
def fixture() -> ClientsFixture:
    return ClientsFixture(Options(max_pending=100_000, max_payload=50_000))


def pair(fixture: ClientsFixture) -> tuple[FakeClient, FakeClient]:
    producer, consumer = fixture.connected(), fixture.connected()
    consumer.says("SUB a 1\r\n")
    consumer.wire.stuck = True
    return producer, consumer


def test_too_much_unread_ends_the_consumer_not_the_producer(fixture: ClientsFixture) -> None:
    producer, consumer = pair(fixture)
    producer.says(BODY * 90)
    assert consumer.open
    producer.says(BODY * 10)
    assert consumer.closed == "Slow Consumer (Pending Bytes)"
    assert consumer.wire.aborted
    assert not producer.closed
    assert fixture.clients.statistics.slow_consumers == 1
    assert producer.says("PING\r\n").startswith(b"PONG")


def test_a_large_message_for_thousands_of_subscriptions_is_no_large_buffer(fixture: ClientsFixture) -> None:
    producer, consumer = fixture.connected(), fixture.connected()
    consumer.says("".join(f"SUB a {number}\r\n" for number in range(2000)))
    consumer.wire.stuck = True
    producer.connection.receive(b"PUB a 50000\r\n" + b"x" * 50_000 + b"\r\n")
    assert consumer.closed == "Slow Consumer (Pending Bytes)"
    assert consumer.wire.buffered < 2_000_000  # of a hundred million
    assert not producer.closed


def test_what_is_written_in_pieces_is_all_there_in_order() -> None:
    fixture = ClientsFixture(Options(max_pending=1 << 30, max_payload=50_000))
    producer, consumer = fixture.connected(), fixture.connected()
    consumer.says("".join(f"SUB a {number}\r\n" for number in range(200)))
    producer.connection.receive(b"PUB a 50000\r\n" + b"x" * 50_000 + b"\r\nPUB a 1\r\ny\r\n")
    message = "MSG a {} 50000\r\n" + "x" * 50_000 + "\r\n"
    expected = "".join(message.format(number) for number in range(200))
    expected += "".join(f"MSG a {number} 1\r\ny\r\n" for number in range(200))
    assert consumer.read() == expected.encode()
    assert consumer.connection.out_msgs == 400


def test_a_large_message_is_written_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    fixture = ClientsFixture(Options(max_pending=100_000_000, max_payload=8_000_000))
    consumer = fixture.connected()
    consumer.says("PING\r\n")
    written: list[bytes] = []
    monkeypatch.setattr(consumer.wire, "write", written.append)
    small, large = b"MSG a 1 5\r\n", b"x" * 5_000_000
    for tail in (b"hello\r\n", large, b"again\r\n"):
        consumer.connection.send_message(small, tail, len(tail))
    consumer.connection.flush()
    assert b"".join(written) == small + b"hello\r\n" + small + large + small + b"again\r\n"
    assert any(each is large for each in written), "it was copied"


def test_what_is_sent_in_time_keeps_the_consumer(fixture: ClientsFixture) -> None:
    producer, consumer = pair(fixture)
    for _ in range(5):
        producer.says(BODY * 10)
        fixture.clock.advance(9 * SECOND)
        consumer.wire.buffered = 0
        producer.says("PONG\r\n")
        consumer.says("PONG\r\n")
    assert consumer.open


def test_what_is_not_out_by_the_deadline_ends_the_consumer(fixture: ClientsFixture) -> None:
    producer, consumer = pair(fixture)
    producer.says(BODY)
    fixture.clock.advance(9 * SECOND)
    assert consumer.open
    fixture.clock.advance(SECOND)
    assert consumer.closed == "Slow Consumer (Write Deadline)"


def test_a_producer_waits_a_moment_for_slow_consumers(fixture: ClientsFixture) -> None:
    producer, consumer = pair(fixture)
    producer.connection.receive(BODY * 80)
    stalled = fixture.clients.flusher.take_stalled()
    assert stalled == [consumer.connection]
    producer.connection.stall(stalled)
    assert producer.wire.paused
    fixture.clock.advance(SECOND // 100)
    assert not producer.wire.paused
    producer.connection.stall(stalled)
    consumer.connection.writable()
    assert not producer.wire.paused
    producer.connection.stall(stalled)
    consumer.connection.lost()
    assert not producer.wire.paused
    assert producer.connection.stalls == 3


def test_producers_are_not_stalled_when_configured_so(fixture: ClientsFixture) -> None:
    fixture.options.no_fast_producer_stall = True
    producer, consumer = pair(fixture)
    producer.connection.stall([consumer.connection])
    assert not producer.wire.paused


def test_a_burst_of_the_server_itself_is_written_as_it_grows() -> None:
    fixture = ClientsFixture()
    consumer = fixture.connected()
    consumer.says("SUB a 1\r\n")
    before = consumer.wire.writes
    for _ in range(5_000):
        fixture.registry.global_account.publish("a", b"x" * 1000)
    assert 4 <= consumer.wire.writes - before <= 6


def test_pings_come_when_the_client_is_silent_and_stop_counting_when_it_answers(
    fixture: ClientsFixture,
) -> None:
    fixture.options.ping_interval = 10 * SECOND
    client = fixture.connected()
    fixture.clock.advance(3 * SECOND)
    assert client.read() == b"PING\r\n"
    fixture.clock.advance(5_000_000)
    client.says("PONG\r\n")
    assert client.connection.ping_timer.rtt >= 5_000_000
    fixture.clock.advance(9 * SECOND)
    client.says("PUB a 0\r\n\r\n")
    fixture.clock.advance(3 * SECOND)
    assert client.read() == b""
    fixture.clock.advance(13 * SECOND)
    assert client.read() == b"PING\r\n"


def test_a_client_that_never_answers_is_stale(fixture: ClientsFixture) -> None:
    fixture.options.ping_interval = 10 * SECOND
    client = fixture.connected()
    fixture.clock.advance(60 * SECOND)
    assert client.read() == b"PING\r\n" * 2 + b"-ERR 'Stale Connection'\r\n"
    assert client.closed == "Stale Connection"
    assert fixture.clients.statistics.stale == 1
    assert fixture.clock.pending() == 0


def test_a_line_that_never_ends_does_not_put_off_the_pings(fixture: ClientsFixture) -> None:
    fixture.options.ping_interval = 10 * SECOND
    client = fixture.connected()
    client.connection.receive(b"PUB a")
    for _ in range(60):
        client.connection.receive(b"a")
        fixture.clock.advance(SECOND)
    assert client.closed == "Stale Connection"


def test_a_wide_fan_out_is_written_bit_by_bit() -> None:
    fixture = ClientsFixture()
    consumers = [fixture.connected() for _ in range(100)]
    for consumer in consumers:
        consumer.says("SUB a 1\r\n")
    producer = fixture.connected()
    before = consumers[0].wire.writes
    producer.says(b"PUB a 0\r\n\r\n" * 2_000)
    assert consumers[0].wire.writes - before == 4
    assert consumers[99].read() == b"MSG a 1 0\r\n\r\n" * 2_000


def test_a_message_for_many_queue_groups_is_a_wide_one() -> None:
    fixture = ClientsFixture()
    consumers = [fixture.connected() for _ in range(100)]
    for number, consumer in enumerate(consumers):
        consumer.says(f"SUB a group{number} 1\r\n")
    producer = fixture.connected()
    before = consumers[0].wire.writes
    pauses = checks_of(producer)
    producer.says(b"PUB a 0\r\n\r\n" * 2_000)
    assert consumers[0].wire.writes - before == 4
    assert consumers[99].read() == b"MSG a 1 0\r\n\r\n" * 2_000
    assert len(pauses) > 2_000 * 100 // 1_200  # the clock is looked at after a thousand deliveries


def test_wide_messages_between_runs_for_a_batch_callback_count_too() -> None:
    fixture = ClientsFixture()
    taken: list[object] = []
    fixture.registry.global_account.subscribe("run", lambda _: None, batch_callback=taken.extend)
    consumers = [fixture.connected() for _ in range(100)]
    for consumer in consumers:
        consumer.says("SUB a 1\r\n")
    producer = fixture.connected()
    before = consumers[0].wire.writes
    producer.says((b"PUB a 0\r\n\r\n" * 4 + b"PUB run 0\r\n\r\n") * 500)
    assert len(taken) == 500
    assert consumers[0].wire.writes - before == 4
    assert consumers[99].read() == b"MSG a 1 0\r\n\r\n" * 2_000


def checks_of(client: FakeClient) -> list[bool]:
    """Return what `must_pause` will have answered."""
    answers: list[bool] = []
    asked = client.connection.must_pause

    def answer(operations: Iterator[Op]) -> bool:
        answers.append(asked(operations))
        return answers[-1]

    client.connection.must_pause = answer  # type: ignore[method-assign]
    return answers
