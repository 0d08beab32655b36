"""Input is served in order, in pieces and turns, and no connection waits for more than one turn."""

from __future__ import annotations

import sys
from types import FrameType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lib.fake_clock import FakeClock
from lib.fake_wire import ClientsFixture
from pyjs.server.accounts.subscription import Publish
from pyjs.server.connection.input_buffer import InputBuffer

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
    buffer, given_out = InputBuffer(), b""
    for read in reads:
        buffer.add(read)
    turn = 0
    while buffer:
        size = buffer.piece
        piece = buffer.take()
        assert 0 < len(piece) <= size
        given_out += piece
        buffer.took(len(piece), times[turn % len(times)] * MILLISECOND)
        turn += 1
    assert given_out == b"".join(reads)


def test_slow_pieces_become_smaller_and_quick_ones_larger() -> None:
    buffer = InputBuffer()
    first = buffer.piece
    buffer.took(first, 10 * MILLISECOND)
    assert buffer.piece == first // 2
    for _ in range(20):
        buffer.took(buffer.piece, 10 * MILLISECOND)
    assert buffer.piece == 1 << 12
    buffer.took(10, 0)
    assert buffer.piece == 1 << 12
    for _ in range(20):
        buffer.took(buffer.piece, 0)
    assert buffer.piece == 1 << 18


@given(st.binary(min_size=1, max_size=100_000), st.lists(st.integers(1, 100_000), min_size=1))
def test_what_is_given_back_comes_again(read: bytes, parsed: list[int]) -> None:
    buffer, given_out = InputBuffer(), b""
    buffer.add(read)
    turn = 0
    while buffer:
        piece = buffer.take()
        size = min(parsed[turn % len(parsed)], len(piece))
        if size < len(piece):
            buffer.give_back(piece, len(piece) - size)
        given_out += piece[:size]
        turn += 1
    assert given_out == read


SAID = st.lists(
    st.sampled_from(
        [
            "PUB a.%d 2\r\nhi\r\n",
            "PUB a.same 2\r\nhi\r\nPUB a.same 2\r\nhi\r\nPUB a.same 2\r\nhi\r\n",
            "PUB nobody b.%d 0\r\n\r\n",
            "HPUB a.%d 12 14\r\nNATS/1.0\r\n\r\nhi\r\n",
            "pub   service.%d 1\nx\r\n",
            "SUB a.%d %d\r\n",
            "SUB b.* %d\r\n",
            "SUB a..%d %d\r\n",
            "UNSUB %d\r\n",
            "UNSUB %d 2\r\n",
            "PING\r\n",
        ]
    ),
    max_size=60,
)
ENDS = st.sampled_from(["", "PUB a.1 7\r\nhi", "PUB a.1 1\r\nlong\r\nPING\r\n", "QUIT\r\nPING\r\n"])


@given(SAID, ENDS, st.lists(st.integers(1, 200), max_size=20), st.integers(1, 8), st.integers(0, 4))
def test_portions_are_served_as_one_piece_is(
    said: list[str], end: str, cuts: list[int], most: int, step: int
) -> None:
    lines = [line.replace("%d", str(number % 7)) for number, line in enumerate(said)]
    data = ("".join(lines) + end).encode()
    assert _served(data, cuts, most, step * MILLISECOND) == _served(data, [], 1000, 0)


def _served(
    data: bytes, cuts: list[int], most: int, step: int
) -> tuple[bytes, bytes, list[str], str, tuple[int, ...]]:
    """What two clients and a service come to see of it, read in pieces of these sizes."""
    clock = Ticking()
    fixture = ClientsFixture(clock=clock)
    hearer, client = fixture.connected(), fixture.connected()
    asked: list[str] = []
    fixture.registry.global_account.subscribe("service.*", lambda message: asked.append(message.subject))
    hearer.says("SUB a.* 1\r\n")
    client.connection.parser.most = most
    clock.step = step
    for size in [*cuts, len(data)]:
        client.connection.receive(data[:size])
        data = data[size:]
    while clock.pending() and client.wire.paused and not client.closed:
        clock.advance(100 * MILLISECOND)
    clock.step = 0
    account = fixture.registry.global_account
    counted = (client.connection.in_msgs, account.in_msgs, client.connection.parser.buffer.size)
    return hearer.read(), client.read(), asked, client.closed, counted


def test_a_flood_is_served_in_turns_and_in_order() -> None:
    clock = Ticking()
    fixture = ClientsFixture(clock=clock)
    hearer, flooder = fixture.connected(), fixture.connected()
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
    fixture = ClientsFixture(clock=clock)
    client = fixture.connected()
    asked: list[str] = []
    fixture.registry.global_account.subscribe("service.*", lambda message: asked.append(message.subject))
    clock.step = MILLISECOND
    client.connection.receive(b"".join(b"PUB service.%d 0\r\n\r\n" % number for number in range(100)))
    clock.step = 0
    assert 0 < len(asked) < 20
    while client.wire.paused:
        clock.step = MILLISECOND
        clock.advance(SECOND)
        clock.step = 0
    assert asked == [f"service.{number}" for number in range(100)]


@pytest.mark.parametrize(("each", "first", "most"), [(MILLISECOND, 32, 50), (1000, 992, 10)])
def test_publishes_for_one_reader_are_served_in_turns(each: int, first: int, most: int) -> None:
    """However long the reader takes for one: many slow ones are cut, many quick ones hardly."""
    clock = Ticking()
    fixture = ClientsFixture(clock=clock)
    client = fixture.connected()
    runs: list[list[bytes]] = []

    def read(run: list[Publish]) -> None:
        runs.append([publish[4][-6:-2] for publish in run])
        clock.step = each * len(run)
        clock.now()
        clock.step = 0

    fixture.registry.global_account.subscribe("s", lambda message: None, batch_callback=read)
    bodies = [b"%04d" % number for number in range(992)]
    client.connection.receive(b"".join(b"PUB s 4\r\n%b\r\n" % body for body in bodies))
    assert sum(map(len, runs)) == first
    while client.wire.paused:
        clock.advance(SECOND)
    assert [body for run in runs for body in run] == bodies
    assert len(runs) <= most
    assert client.connection.in_msgs == fixture.registry.global_account.in_msgs == len(bodies)


def test_one_who_closes_is_read_to_the_end() -> None:
    clock = Ticking()
    fixture = ClientsFixture(clock=clock)
    client = fixture.connected()
    asked: list[str] = []
    fixture.registry.global_account.subscribe("service", lambda message: asked.append(message.subject))
    clock.step = MILLISECOND
    client.connection.receive(b"PUB service 0\r\n\r\n" * 50)
    clock.step = 0
    client.connection.ended()
    assert client.open
    clock.advance(SECOND)
    assert len(asked) == 50
    assert client.closed == "Client Closed"


def test_what_comes_while_the_next_turn_is_due_is_served_in_it() -> None:
    """Even if nothing is left for that turn, because an answer came first."""
    clock = Ticking()
    fixture = ClientsFixture(clock=clock)
    client = fixture.connected()
    asked: list[str] = []
    fixture.registry.global_account.subscribe("service.*", lambda message: asked.append(message.subject))
    client.connection.pause()
    clock.step = 3 * MILLISECOND
    client.connection.receive(b"".join(b"PUB service.%d 0\r\n\r\n" % number for number in range(9)))
    client.connection.resume()
    assert 0 < len(asked) < 9
    clock.step = 0
    client.connection.pause()
    client.connection.resume()
    assert len(asked) == 9
    client.connection.receive(b"PUB service.9 0\r\n\r\n")
    clock.advance(SECOND)
    assert asked == [f"service.{number}" for number in range(10)]


def test_a_read_of_one_publish_makes_few_calls() -> None:
    """What every read costs, whatever is in it: the shell must stay thin."""
    fixture = ClientsFixture()
    hearer, client = fixture.connected(), fixture.connected()
    hearer.says("SUB a 1\r\n")
    client.says("PUB a 2\r\nhi\r\n")
    calls: list[str] = []

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            calls.append(frame.f_code.co_name)

    sys.setprofile(note)
    try:
        client.connection.receive(b"PUB a 2\r\nhi\r\n")
    finally:
        sys.setprofile(None)
    assert hearer.read().endswith(b"MSG a 1 2\r\nhi\r\n")
    assert len(calls) <= 16, calls  # of these four are the fake clock's and wire's
