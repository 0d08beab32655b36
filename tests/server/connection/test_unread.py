"""What was read is served in order, in pieces and turns, and nobody waits for more than one turn."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from lib.fake_clock import FakeClock
from lib.fake_wire import House
from pyjs.server.connection.unread import Unread

MILLISECOND = 1_000_000
SECOND = 1000 * MILLISECOND


class Ticking(FakeClock):
    """A clock that moves on by a step whenever it is asked."""

    step = 0

    def now(self) -> int:
        self._now += self.step
        return super().now()


@given(
    st.lists(st.binary(min_size=1, max_size=100_000), max_size=5), st.lists(st.integers(0, 10), min_size=1)
)
def test_pieces_are_what_was_read(reads: list[bytes], times: list[int]) -> None:
    unread, given_out = Unread(), b""
    for read in reads:
        unread.add(read)
    turn = 0
    while unread:
        size = unread.piece
        piece = unread.take()
        assert 0 < len(piece) <= size
        given_out += piece
        unread.took(len(piece), times[turn % len(times)] * MILLISECOND)
        turn += 1
    assert given_out == b"".join(reads)


def test_slow_pieces_become_smaller_and_quick_ones_larger() -> None:
    unread = Unread()
    first = unread.piece
    unread.took(first, 10 * MILLISECOND)
    assert unread.piece == first // 2
    for _ in range(20):
        unread.took(unread.piece, 10 * MILLISECOND)
    assert unread.piece == 1 << 12
    unread.took(10, 0)
    assert unread.piece == 1 << 12
    for _ in range(20):
        unread.took(unread.piece, 0)
    assert unread.piece == 1 << 18


def test_a_flood_is_served_in_turns_and_in_order() -> None:
    clock = Ticking()
    house = House(clock=clock)
    hearer, flooder = house.connected(), house.connected()
    hearer.says("SUB a 1\r\n")
    clock.step = 3 * MILLISECOND
    numbers = [b"%d" % number for number in range(5_000)]
    flooder.connection.receive(b"".join(b"PUB a %d\r\n%b\r\n" % (len(n), n) for n in numbers))
    clock.step = 0
    heard = hearer.read()
    assert 0 < heard.count(b"MSG") < 5_000
    assert flooder.wire.paused
    while flooder.wire.paused:
        clock.step = 3 * MILLISECOND
        clock.advance(SECOND)
        clock.step = 0
        heard += hearer.read()
    assert heard == b"".join(b"MSG a 1 %d\r\n%b\r\n" % (len(n), n) for n in numbers)


def test_many_requests_of_one_read_are_served_in_turns() -> None:
    clock = Ticking()
    house = House(clock=clock)
    client = house.connected()
    asked: list[str] = []
    house.registry.global_account.subscribe("service.*", lambda message: asked.append(message.subject))
    clock.step = MILLISECOND
    client.connection.receive(b"".join(b"PUB service.%d 0\r\n\r\n" % number for number in range(100)))
    clock.step = 0
    assert 0 < len(asked) < 20
    while client.wire.paused:
        clock.step = MILLISECOND
        clock.advance(SECOND)
        clock.step = 0
    assert asked == [f"service.{number}" for number in range(100)]


def test_one_who_closes_is_heard_to_the_end() -> None:
    clock = Ticking()
    house = House(clock=clock)
    client = house.connected()
    asked: list[str] = []
    house.registry.global_account.subscribe("service", lambda message: asked.append(message.subject))
    clock.step = MILLISECOND
    client.connection.receive(b"PUB service 0\r\n\r\n" * 50)
    clock.step = 0
    client.connection.ended()
    assert not client.closed
    clock.advance(SECOND)
    assert len(asked) == 50
    assert client.closed == "Client Closed"
