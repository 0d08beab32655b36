"""When data is written: at once to few connections, over several turns to many, and never out of order."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from lib.fake_clock import FakeClock, FakeTimer
from lib.fake_wire import ClientsFixture
from pyjs.server.accounts import Message
from pyjs.server.accounts.flusher import Flusher, OutboundQueue

MS = 1_000_000


class SlowClock(FakeClock):
    """A clock that goes on while something is done."""

    def spend(self, ns: int) -> None:
        self._now += ns


class TurnClock:
    """The loop's turns, one at a time."""

    def __init__(self) -> None:
        self.time = 0
        self.due: list[Callable[[], None]] = []

    def now(self) -> int:
        return self.time

    def call_later(self, delay: int, callback: Callable[[], None]) -> FakeTimer:
        self.due.append(callback)
        return FakeTimer(callback)

    def soon(self, callback: Callable[[], None]) -> FakeTimer:
        return self.call_later(0, callback)

    def turn(self) -> None:
        due, self.due = self.due, []
        for callback in due:
            callback()


class SlowQueue(OutboundQueue):
    """An outbound queue whose writes take a millisecond each."""

    def __init__(self, flusher: Flusher, clock: TurnClock, written: list[int], number: int) -> None:
        super().__init__(flusher)
        self.clock = clock
        self.written = written
        self.number = number

    def flush(self) -> None:
        self.clock.time += MS
        self.written.append(self.number)


def test_many_are_written_to_over_several_turns_and_few_go_before_them() -> None:
    clock = TurnClock()
    flusher = Flusher(clock)
    written: list[int] = []
    queues = [SlowQueue(flusher, clock, written, number) for number in range(100)]
    one = SlowQueue(flusher, clock, written, 1000)
    done: list[bool] = []
    for queue in queues:
        queue.mark()
    flusher.flush()
    assert 4 <= len(written) <= 8
    assert flusher.overflows == 1
    flusher.when_written(lambda: done.append(True))
    one.mark()
    queues[99].mark()
    flusher.flush()
    assert written[-1] == 1000
    assert flusher.overflows == 1
    turns = 0
    while not done:
        before = len(written)
        clock.turn()
        turns += 1
        assert len(written) - before <= 12
    assert turns > 8
    assert [number for number in written if number < 1000] == list(range(100))
    assert not any(queue.flush_pending for queue in queues)


def test_the_producer_of_a_wide_message_reads_on_when_it_is_written() -> None:
    clock = SlowClock()
    fixture = ClientsFixture(clock=clock)
    producer, other = fixture.connected(), fixture.connected()
    consumers = [fixture.connected() for _ in range(50)]
    for consumer in consumers:
        consumer.says("SUB a 1\r\n")
        write = consumer.wire.write

        def slowly(data: bytes, write: object = write) -> None:
            clock.spend(MS)
            write(data)  # type: ignore[operator]

        consumer.wire.write = slowly  # type: ignore[method-assign]
    producer.connection.receive(b"PUB a 1\r\nx\r\n")
    producer.connection.receive(b"PUB a 1\r\ny\r\n")
    assert producer.wire.paused
    assert other.says("PING\r\n").startswith(b"PONG\r\n")
    fixture.clock.advance(1000 * MS)
    assert not producer.wire.paused
    assert all(consumer.wire.sent == b"MSG a 1 1\r\nx\r\nMSG a 1 1\r\ny\r\n" for consumer in consumers)


def test_what_is_sent_within_a_read_is_written_at_its_end_and_nothing_is_scheduled() -> None:
    fixture = ClientsFixture()
    account = fixture.registry.global_account

    def answer(_: Message) -> None:
        account.publish("answer", b"x")

    account.subscribe("ask", answer)
    client = fixture.connected()
    client.says("SUB answer 1\r\n")
    timers = fixture.clock.pending()
    client.connection.receive(b"PUB ask 0\r\n\r\n")
    assert client.wire.sent == b"MSG answer 1 1\r\nx\r\n"
    assert fixture.clock.pending() == timers


def test_a_read_that_fails_leaves_nothing_unwritten() -> None:
    fixture = ClientsFixture()
    account = fixture.registry.global_account

    def fail(message: Message) -> None:
        account.publish("answer", b"x")
        raise RuntimeError("a defect")

    account.subscribe("ask", fail)
    client, other = fixture.connected(), fixture.connected()
    other.says("SUB answer 1\r\n")
    with pytest.raises(RuntimeError):
        client.connection.receive(b"PUB ask 0\r\n\r\n")
    fixture.clock.advance(0)
    assert other.read() == b"MSG answer 1 1\r\nx\r\n"
    account.publish("answer", b"y")
    fixture.clock.advance(0)
    assert other.read() == b"MSG answer 1 1\r\ny\r\n"


def test_what_fails_at_the_end_of_a_read_is_reported_and_keeps_nothing_else() -> None:
    clock = FakeClock()
    flusher = Flusher(clock)
    done: list[str] = []

    def broken() -> None:
        flusher.at_end.append(lambda: done.append("third"))
        raise RuntimeError("bug")

    flusher.at_end += [broken, lambda: done.append("second")]
    flusher.end_read()
    assert (done, flusher.at_end) == (["second", "third"], [])
    with pytest.raises(RuntimeError, match="bug"):
        clock.advance(0)


def test_it_is_known_since_when_only_one_connection_sends() -> None:
    fixture = ClientsFixture()
    one, other = fixture.connected(), fixture.connected()
    flusher, began = fixture.registry.flusher, fixture.clock.now()
    one.says("PING\r\n")
    fixture.clock.advance(MS)
    one.says("PING\r\n")
    assert flusher.since == began
    other.says("PING\r\n")
    assert flusher.since == began + MS
    fixture.clock.advance(MS)
    one.says("PING\r\n")
    assert flusher.since == began + 2 * MS
