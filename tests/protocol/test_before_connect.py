"""The parsers of a peer that must log in: CONNECT first, nothing else is buffered, then all that follows."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyjs.protocol.wire import violations
from pyjs.protocol.wire.client import ClientParser
from pyjs.protocol.wire.gateway import GatewayParser
from pyjs.protocol.wire.leaf import LeafParser
from pyjs.protocol.wire.ops import CONNECT, PING, PONG, PUB, VIOLATION, Op
from pyjs.protocol.wire.parser import Parser
from pyjs.protocol.wire.route import RouteParser

KINDS: list[Callable[[], Parser]] = [ClientParser, LeafParser, RouteParser, GatewayParser]
kinds = st.sampled_from(KINDS)
connects = st.sampled_from(
    [b"CONNECT {}\r\n", b"connect {}\n", b'CONNECT {"user":"a"}\r\n', b"CONNECT\t{}\r\n"]
)


def awaiting(kind: Callable[[], Parser]) -> Parser:
    parser = kind()
    parser.await_connect()
    return parser


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [data[edges[i] : edges[i + 1]] for i in range(len(edges) - 1)]


@given(kinds, connects, st.binary(max_size=60), st.lists(st.integers(0, 1 << 16), max_size=6))
def test_connect_alone_is_given_and_the_rest_when_it_is_accepted(
    kind: Callable[[], Parser], connect: bytes, rest: bytes, cuts: list[int]
) -> None:
    parser = awaiting(kind)
    ops = [op for piece in pieces(connect + rest, cuts) for op in parser.feed(piece)]
    assert [op[0] for op in ops] == [CONNECT]
    assert parser.buffer.size == len(rest)
    free = kind()
    assert _codes([*parser.feed(parser.connected()), *parser.feed(b"PING\r\n")]) == _codes(
        [*free.feed(rest), *free.feed(b"PING\r\n")]
    )


@given(kinds, st.binary(min_size=1, max_size=40), st.lists(st.integers(0, 1 << 16), max_size=6))
def test_anything_else_is_a_error_at_once(kind: Callable[[], Parser], junk: bytes, cuts: list[int]) -> None:
    parser = awaiting(kind)
    ops = [op for piece in pieces(junk, cuts) for op in parser.feed(piece)]
    if junk[:1] not in b"Cc":
        assert ops == [(VIOLATION, violations.NOT_CONNECT)]
        assert parser.buffer.size == 0
    assert len(ops) <= 1
    assert parser.feed(b"CONNECT {}\r\n") == [] or not ops


@pytest.mark.parametrize("kind", KINDS)
def test_a_stranger_has_no_more_buffered_than_a_control_line(kind: Callable[[], Parser]) -> None:
    parser = awaiting(kind)
    most = 4096 if kind is ClientParser else 16 * 4096
    assert parser.feed(b"CONNECT ") == []
    fed = 0
    while not (ops := parser.feed(b"x" * 100)):
        fed += 100
        assert parser.buffer.size <= most + 16
    assert ops[0][1].text == "maximum control line exceeded"
    assert fed <= most
    assert parser.buffer.size == 0


def test_a_reload_that_asks_for_connect_forgets_an_announced_payload() -> None:
    parser = ClientParser()
    assert parser.feed(b"PUB a 1000000\r\nabc") == []
    parser.await_connect()
    assert parser.feed(b"d") == [(VIOLATION, violations.NOT_CONNECT)]


def test_small_reads_of_a_payload_take_no_more_memory_than_it() -> None:
    parser = ClientParser(max_payload=1 << 20)
    parser.feed(b"PUB a 100000\r\n")
    for _ in range(49_999):
        assert parser.feed(b"xy") == []
    assert len(parser.buffer.chunks) == 2
    assert parser.feed(b"xy\r\n" + b"PING\r\n") == [
        (PUB, b"a", b"", 0, 100000, b"100000\r\n" + b"xy" * 50_000 + b"\r\n"),
        (PING,),
    ]
    assert parser.feed(b"PONG\r\n") == [(PONG,)]


def _codes(ops: list[Op]) -> list[object]:
    return [op[0] if op[0] == VIOLATION else op for op in ops]
