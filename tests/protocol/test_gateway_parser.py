"""GatewayParser: what differs from a route's, junk, and limits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyjs.protocol.gateway_reply import cluster_hash, hash_of, own_reply, server_hash, split_way, way_to
from pyjs.protocol.wire import encode
from pyjs.protocol.wire.gateway import GatewayParser
from pyjs.protocol.wire.ops import ACCOUNT, ASUB, AUNSUB, LSUB, LUNSUB, PUB, VIOLATION


def test_what_a_gateway_says() -> None:
    lines = b"RS+ A s\r\nRS+ A s q 1\r\nRS- A s q\r\nA+ A\r\n" + encode.account_unsub(b"A")
    assert GatewayParser().feed(lines + b"RMSG A s 3\r\nabc\r\n") == [
        (LSUB, b"s", b"", 1, b"", b"A"),
        (LSUB, b"s", b"q", 1, b"", b"A"),
        (LUNSUB, b"s", b"q", b"", b"A"),
        (ASUB, b"A"),
        (AUNSUB, b"A"),
        (ACCOUNT, b"A"),
        (PUB, b"s", b"", 0, 3, b"3\r\nabc\r\n"),
    ]


@pytest.mark.parametrize(
    "line",
    [b"A+\r\n", b"A- A b\r\n", b"LS+ o A s\r\n", b"LMSG o A s 0 1\r\nx\r\n", b"RS+ A\r\n", b"SUB a 1\r\n"],
)
def test_what_is_wrong_ends_it(line: bytes) -> None:
    assert [op[0] for op in GatewayParser().feed(line)] == [VIOLATION]


@given(
    st.binary(max_size=200)
    | st.lists(st.sampled_from([b"A+", b"A-", b"RS+", b" A", b" s", b"\r\n"])).map(b"".join)
)
def test_junk_never_raises(junk: bytes) -> None:
    parser = GatewayParser()
    ops = [op for i in range(len(junk)) for op in parser.feed(junk[i : i + 1])]
    assert all(op[0] != VIOLATION for op in ops[:-1])


def test_a_line_is_no_longer_than_a_leafs() -> None:
    parser = GatewayParser()
    ops = parser.feed(b"RS+ A " + b"x" * 200_000)
    assert [op[0] for op in ops] == [VIOLATION]


def test_a_way_is_what_stands_before_a_reply() -> None:
    way = way_to("B", "NID")
    assert split_way(way + b"_INBOX.a.1") == (way, b"_INBOX.a.1")
    assert (cluster_hash(way), server_hash(way)) == (hash_of("B").encode(), hash_of("NID").encode())
    assert own_reply((way + b"r").decode()) == "r"
    for plain in (b"", b"_INBOX.a", b"_GR_.x", way):
        assert split_way(plain) == (b"", plain)
        assert own_reply(plain.decode()) == plain.decode()
