"""The compiled reading of direct gets, and the headers of their answers, are those of the plain functions."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyjs.native import gets
from pyjs.protocol.timestamp import format_rfc3339, to_the_second

_native = pytest.importorskip("pyjs.native._native", reason="there was no compiler")

PARTS = [b"{", b"}", b" ", b'"seq":', b'"last_by_subj":', b'"', b"1", b"07", b"a.b", b"*", b">", b"\\", b"!"]
PARTS += [b"?", b"[", b"]", b"~", b"\x7f", b"\xff", b"\n", b"9999999999999999999", b"99999999999999999999"]
BODIES = st.lists(st.sampled_from(PARTS), max_size=9).map(b"".join) | st.builds(
    lambda one, value, two: b"{" + one + value + two + b"}",
    st.sampled_from([b"", b" ", b"  "]),
    st.builds(
        lambda key, blank, value: key + blank + value,
        st.sampled_from([b'"seq":', b'"last_by_subj":']),
        st.sampled_from([b"", b" "]),
        st.integers(0, 1 << 65).map(b"%d".__mod__)
        | st.binary(max_size=3).map(lambda text: b'"' + text + b'"')
        | st.sampled_from([b'"a.b"', b'""', b'"*"']),
    ),
    st.sampled_from([b"", b" ", b"  "]),
)
SUBJECTS = st.sampled_from(
    [
        b"$JS.API.DIRECT.GET.S",
        b"$JS.API.DIRECT.GET.S.",
        b"$JS.API.DIRECT.GET.S.a.b",
        b"$JS.API.DIRECT.GET.S.a>",
        b"$JS.API.DIRECT.GET.S.a*",
        b"$JS.API.DIRECT.GET.S.\xff",
        b"a.b.c.d.e.*",
        b"",
        b".",
    ]
)


@given(st.lists(st.tuples(SUBJECTS, BODIES | st.just(b""), st.sampled_from([0, 0, 0, 5])), max_size=4))
def test_requests_are_read_as_by_the_plain_function(drawn: list[tuple[bytes, bytes, int]]) -> None:
    run = [(subject, b"r", headed, len(body), b"r 9\r\n" + body + b"\r\n") for subject, body, headed in drawn]
    assert _native.read_gets(run) == gets.read_gets(run)


@pytest.mark.parametrize("function", [_native.read_gets, gets.read_gets])
@pytest.mark.parametrize(
    ("subject", "header", "body", "wanted"),
    [
        (b"1.2.3.4.5.a.b", 0, b"", "a.b"),
        (b"1.2.3.4.5.a.b", 0, b"x", None),
        (b"1.2.3.4.5.a.b", 1, b"", None),
        (b"1.2.3.4.5.a*", 0, b"", None),
        (b"1.2.3.4.5.a>", 0, b"", None),
        (b"1.2.3.4.*.a", 0, b"", "a"),
        (b"1.2.3.4.5.", 0, b"", ""),
        (b"1.2.3.4.5", 0, b'{"seq":7}', 7),
        (b"1.2.3.4.5", 1, b'{"seq":7}', None),
        (b"1.2.3.4.5", 0, b"", None),
    ],
)
def test_what_is_asked_for(function: Any, subject: bytes, header: int, body: bytes, wanted: object) -> None:
    assert function([(subject, b"r", header, len(body), b"r 9\r\n" + body + b"\r\n")]) == [wanted]


class Stored(NamedTuple):
    """A message that was found."""

    seq: int
    subject: str
    header: bytes
    body: bytes
    time: int


TIMES = st.integers(-(1 << 63), (1 << 63) - 1) | st.sampled_from(
    [0, 1, -1, 10**9, 10**9 - 1, -(10**9), 1500 * 10**6]
)
MESSAGES = st.builds(
    Stored,
    st.sampled_from([1, 9, 10, (1 << 64) - 1]),
    st.sampled_from(["a", "grün", "\udcff", "b" * 200]),
    st.sampled_from([b"", b"NATS/1.0\r\nA: b\r\n\r\n", b"x", b"xy"]),
    st.binary(max_size=3),
    TIMES,
)
ANSWERS = st.lists(
    st.tuples(st.just(b"r"), MESSAGES) | st.just((b"s", b"NATS/1.0 404\r\n\r\n", b"")), max_size=5
)


@given(ANSWERS, st.sampled_from(["S", "grün"]))
def test_answers_are_headed_as_by_the_plain_function(answers: list[tuple[Any, ...]], stream: str) -> None:
    headed = gets.head_answers(answers, stream, to_the_second)
    assert _native.head_answers(answers, stream, to_the_second) == headed
    for answer, (_, header, _) in zip(answers, headed, strict=True):
        if len(answer) == 2:
            assert f"\r\nNats-Time-Stamp: {format_rfc3339(answer[1].time)}\r\n\r\n".encode() in header
