"""The parser of what servers send: however the bytes are cut, the messages are the same."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyjs.client import ClientError, Frames
from pyjs.client.frames import first_frame, parse, skim
from pyjs.protocol.wire import encode

WORDS = st.text("abc.$>*ü\"'", min_size=1, max_size=8).map(str.encode)
MESSAGES = st.tuples(
    WORDS,
    st.one_of(st.just(b""), WORDS),
    st.one_of(
        st.just(b""), st.binary(max_size=20).map(lambda value: b"NATS/1.0\r\nA: " + value + b"\r\n\r\n")
    ),
    st.binary(max_size=60),
)


def read_in_pieces(data: bytes, cuts: list[int]) -> tuple[Frames, list[bytes]]:
    frames, buffer = Frames(), b""
    control: list[bytes] = []
    places = sorted({min(cut, len(data)) for cut in cuts} | {0, len(data)})
    for start, end in pairwise(places):
        buffer += data[start:end]
        done, needed = parse(buffer, frames, control)
        assert not needed or needed > len(buffer) - done
        buffer = buffer[done:]
    assert buffer == b""
    return frames, control


@given(st.lists(MESSAGES, max_size=12), st.lists(st.integers(0, 900), max_size=20))
def test_any_cut_gives_the_same_messages(messages: list[tuple[bytes, ...]], cuts: list[int]) -> None:
    data = b"".join(encode.msg(subject, b"7", *rest) + b"PING\r\n" for subject, *rest in messages)
    frames, control = read_in_pieces(data, cuts)
    reported = [frames.message(row) for row in range(len(frames))]
    assert [(m.subject.encode(), m.reply.encode(), m.header, m.payload) for m in reported] == messages
    assert control == [b"PING"] * len(messages)


@given(st.lists(MESSAGES, max_size=12), st.lists(st.integers(0, 900), max_size=20))
def test_any_cut_counts_the_same(messages: list[tuple[bytes, ...]], cuts: list[int]) -> None:
    messages = [each for each in messages for _ in range(2)]  # equal lines follow each other
    data = b"".join(encode.msg(subject, b"7", *rest) for subject, *rest in messages) + b"PING\r\n"
    control: list[bytes] = []
    buffer, count, size = b"", 0, 0
    for start, end in pairwise(sorted({min(cut, len(data)) for cut in cuts} | {0, len(data)})):
        buffer += data[start:end]
        found = skim(buffer, control)
        assert not found.needed or found.needed > len(buffer) - found.end
        count, size, buffer = count + found.messages, size + found.size, buffer[found.end :]
    assert (count, size, buffer) == (
        len(messages),
        sum(len(header) + len(body) for *_, header, body in messages),
        b"",
    )
    assert control == [b"PING"]


@pytest.mark.parametrize("data", [b"MSG a 1 x\r\n", b"MSG a 1 -20\r\n", b"\0" * (64 * 1024 + 1)])
def test_what_no_server_sends_is_not_counted(data: bytes) -> None:
    with pytest.raises(ClientError):
        skim(data, [])


def test_rows_are_dropped_with_their_headers() -> None:
    data = b"".join(
        encode.msg(b"s%d" % n, b"1", b"", b"NATS/1.0\r\n\r\n" * (n % 2), b"%d" % n) for n in range(6)
    )
    frames = Frames()
    parse(data, frames, [])
    frames.drop(2)
    frames.drop(2)
    assert [frames.message(row)[0:3:2] for row in range(4)] == [
        ("s0", b""),
        ("s1", b"NATS/1.0\r\n\r\n"),
        ("s4", b""),
        ("s5", b"NATS/1.0\r\n\r\n"),
    ]
    rest = frames.since(3)
    more = frames.since(1)
    rest.extend(more)
    assert [rest.message(row).subject for row in range(len(rest))] == ["s5", "s1", "s4", "s5"]
    assert sorted(rest.headers) == [0, 1, 3]


@pytest.mark.parametrize(
    "data",
    [
        b"MSG a 1 x\r\n",
        b"MSG a 1 -20\r\n" + b"x" * 40,
        b"MSG a 1 -1\r\n",
        b"HMSG a 1 y 12\r\n" + b"x" * 14,
        b"HMSG a 1 4 -12\r\n" + b"x" * 14,
        b"HMSG a 1 -4 12\r\n" + b"x" * 14,
        b"HMSG a 1 13 12\r\n" + b"x" * 14,
        b"x" * 70_000,
    ],
)
def test_what_no_server_sends_is_refused(data: bytes) -> None:
    with pytest.raises(ClientError, match="NATS server"):
        parse(data, Frames(), [])


@given(
    st.lists(st.tuples(st.integers(1, 30), st.sampled_from([0, 3, 21]), st.booleans()), max_size=6),
    st.lists(st.integers(0, 3000), max_size=8),
)
def test_messages_of_one_size_after_each_other(runs: list[tuple[int, int, bool]], cuts: list[int]) -> None:
    """Their payloads look like frames of that size themselves."""
    header = b"NATS/1.0\r\nA: b\r\n\r\n"
    messages = [
        (b"s.%d" % number, b"r" * (number % 3), header * headed, b"MSG a 1 2\r\nMSG a 1 9\r\n"[:size])
        for count, size, headed in runs
        for number in range(count)
    ]
    data = b"".join(encode.msg(subject, b"7", *rest) for subject, *rest in messages)
    frames, control = read_in_pieces(data, cuts)
    reported = [frames.message(row) for row in range(len(frames))]
    assert [(m.subject.encode(), m.reply.encode(), m.header, m.payload) for m in reported] == messages
    assert not control


@given(st.lists(MESSAGES, max_size=6), st.integers(0, 500))
def test_the_first_frame_ends_where_the_parser_says(messages: list[tuple[bytes, ...]], missing: int) -> None:
    frames = [encode.msg(subject, b"7", *rest) for subject, *rest in messages] + [b"PING\r\n"]
    data = bytearray(b"".join(frames))
    data = data[: max(0, len(data) - missing)]
    start = 0
    for frame in frames:
        stop = first_frame(data, start, len(data))
        if start + len(frame) > len(data):
            assert stop == 0
            break
        assert stop == start + len(frame)
        start = stop


@pytest.mark.parametrize("data", [b"MSG a 1 x\r\n", b"MSG a 1 -20\r\n", b"x" * 70_000])
def test_the_first_frame_of_what_no_server_sends_is_refused(data: bytes) -> None:
    with pytest.raises(ClientError, match="NATS server"):
        first_frame(bytearray(data), 0, len(data))


@given(st.lists(MESSAGES, max_size=12))
def test_messages_are_written_as_they_came(messages: list[tuple[bytes, ...]]) -> None:
    data = b"".join(encode.msg(subject, b"7", *rest) for subject, *rest in messages)
    frames = Frames()
    parse(data, frames, [])
    assert frames.encode() == data
