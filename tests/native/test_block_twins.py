"""The compiled reading of deliveries does what the plain one does: on deliveries, and on any bytes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyjs.native import blocks

_blocks = pytest.importorskip("pyjs.native._blocks", reason="there was no compiler")

FORMS = [_blocks.take_deliveries, blocks.take_deliveries]
ACK = b"$JS.ACK.S.C.1.%d.%d.1700000000000000000.5"
LARGEST = (1 << 63) - 1


def delivery(
    number: int = 1,
    *,
    subject: bytes = b"a",
    sid: bytes = b"1",
    reply: bytes = ACK,
    header: bytes = b"",
    payload: bytes = b"xy",
) -> bytes:
    if b"%d" in reply:
        reply %= number + 10, number
    sizes = b"%d %d" % (len(header), len(header + payload)) if header else b"%d" % len(payload)
    verb = b"HMSG" if header else b"MSG"
    return b"%b %b %b %b %b\r\n%b%b\r\n" % (verb, subject, sid, reply, sizes, header, payload)


class Columns:
    """Columns of `rows` rows, and of `size` bytes for each text that is wanted."""

    def __init__(self, rows: int, size: int, wanted: tuple[bool, bool, bool] = (True, True, True)) -> None:
        figures = [bytearray(8 * rows) for _ in range(3)]
        texts = [
            part
            for kept in wanted
            for part in ((bytearray(4 * rows + 4), bytearray(size)) if kept else (None, None))
        ]
        self.buffers = (*figures, *texts)

    def rows(self, count: int) -> list[tuple[Any, ...]]:
        """What the columns say of each row."""
        views = [None if one is None else memoryview(one) for one in self.buffers]
        figures = [view.cast("q").tolist()[:count] for view in views[:3] if view is not None]
        texts: list[list[bytes | None]] = []
        for offsets, values in zip(views[3::2], views[4::2], strict=True):
            if offsets is None or values is None:
                texts.append([None] * count)
                continue
            at = offsets.cast("i")
            texts.append([bytes(values[at[row] : at[row + 1]]) for row in range(count)])
        return list(zip(*figures, *texts, strict=True))


parts = st.sampled_from(
    [
        *(
            b"MSG ",
            b"HMSG ",
            b"a ",
            b"1 ",
            b"2\r\nxy\r\n",
            b"\r\n",
            b"\r",
            b"\n",
            b" ",
            b"\t",
            b"4 6\r\n",
            b"0",
        ),
        *(b"$JS.ACK.S.C.1.2.1.3.4 ", b"$JS.ACK.d.h.S.C.1.2.1.3.4.x ", b"$JS.ACK.S.C.1.2.9.3.4 ", b"PING\r\n"),
        *(
            b"$JS.ACK.d.S.C.1.2.1.3.4 ",
            b"$JS.ACK...1.2.1.3.4 ",
            b"999999999\r\n",
            b"9223372036854775808",
            b".",
        ),
    ]
)
frames = st.builds(
    delivery,
    st.integers(1, 4),
    subject=st.sampled_from([b"a", b"b.c", b"\xff", b"a" * 300]),
    sid=st.sampled_from([b"1", b"1", b"1", b"2", b""]),
    reply=st.sampled_from([ACK, ACK, b"$JS.ACK.d.h.S.C.1.%d.%d.3.4.rand", b"r", b"$JS.ACK.S.C.1.+2.1.3.4"]),
    header=st.sampled_from([b"", b"", b"NATS/1.0\r\n\r\n"]),
    payload=st.sampled_from([b"", b"xy", b"\r\nMSG a 1 $JS.ACK.S.C.1.2.1.3.4 0\r\n\r\n", b"z" * 70]),
)
streams = st.lists(frames | parts | st.binary(max_size=4), max_size=10).map(b"".join) | st.integers(0, 6).map(
    lambda count: b"".join(map(delivery, range(1, count + 1)))
)


@given(
    streams,
    st.integers(0, 40),
    st.integers(0, 6),
    st.sampled_from([0, 1, 8, 80, 2000]),
    st.tuples(st.booleans(), st.booleans(), st.booleans()),
    st.integers(0, 2),
)
def test_both_forms_take_the_same(
    data: bytes, missing: int, rows: int, size: int, wanted: tuple[bool, bool, bool], number: int
) -> None:
    end = max(0, len(data) - missing)
    found, left = [], []
    for take in FORMS:
        columns = Columns(rows, size, wanted)
        found.append(take(data, 0, end, b"1", number, (0, 0, 0, 0), columns.buffers))
        left.append([None if one is None else bytes(one) for one in columns.buffers])
    assert found[0] == found[1]
    assert left[0] == left[1]
    assert 0 <= found[0][0] <= end


@given(streams, st.lists(st.integers(0, 300), max_size=6), st.sampled_from(FORMS))
def test_any_cut_gives_the_same_rows(data: bytes, cuts: list[int], take: Any) -> None:
    whole, pieces = Columns(20, 4000), Columns(20, 4000)
    stop, why, *_, counts = take(data, 0, len(data), b"1", 0, (0, 0, 0, 0), whole.buffers)
    start, so_far = 0, (0, 0, 0, 0)
    for end in [*sorted(min(cut, len(data)) for cut in cuts), len(data)]:
        start, last, needed, _, so_far = take(
            data, start, max(start, end), b"1", so_far[0], so_far, pieces.buffers
        )
        assert last != blocks.MORE or not needed or start + needed > end
    assert (start, last, so_far) == (stop, why, counts)
    assert pieces.rows(counts[0]) == whole.rows(counts[0])


@pytest.mark.parametrize("take", FORMS)
@pytest.mark.parametrize(
    ("frame", "why"),
    [
        (delivery(), blocks.MORE),
        (delivery(header=b"NATS/1.0\r\n\r\n"), blocks.MORE),
        (delivery(reply=b"$JS.ACK.S.C.1.1.1.%d.1" % LARGEST), blocks.MORE),
        (delivery(reply=b"$JS.ACK.S.C.1.1.1.%d.1" % (LARGEST + 1)), blocks.OTHER),
        (delivery(reply=b"$JS.ACK.domain.hash.S.C.1.1.1.3.4"), blocks.MORE),
        (delivery(reply=b"$JS.ACK.domain.hash.S.C.1.1.1.3.4.token.more"), blocks.MORE),
        (delivery(reply=b"$JS.ACK.domain.S.C.1.1.1.3.4"), blocks.OTHER),
        (delivery(reply=b"JS.ACK.S.C.1.1.1.3.4"), blocks.OTHER),
        (delivery(2), blocks.OTHER),
        (delivery(sid=b"11"), blocks.OTHER),
        (delivery(subject=b"a b"), blocks.OTHER),
        (delivery(subject=b"a" * 8000), blocks.MORE),
        (delivery(subject=b"a" * 8200), blocks.OTHER),
        (delivery().replace(b"\r\nxy\r\n", b"\nxy\r\n"), blocks.OTHER),
        (delivery().replace(b"xy\r\n", b"xyz\n"), blocks.OTHER),
        (delivery().replace(b" 2\r", b" 0000000002\r"), blocks.OTHER),
        (delivery(header=b"NATS/1.0\r\n\r\n").replace(b"12 14", b"15 14"), blocks.OTHER),
        (b"PING\r\n", blocks.OTHER),
        (b"HM", blocks.MORE),
    ],
)
def test_a_delivery_of_the_common_form(take: Any, frame: bytes, why: int) -> None:
    for before in (b"", b"HMSG a 1 $JS.ACK.S.C.1.11.0.3.4 2 4\r\nhhxy\r\n"):
        columns, number = Columns(2, 9000), 0 - bool(before)
        stop, because, _, _, counts = take(
            before + frame, 0, len(before + frame), b"1", number, (0, 0, 0, 0), columns.buffers
        )
        taken = why == blocks.MORE and len(frame) > 2
        assert because == why
        assert counts[0] == bool(before) + taken
        assert stop == len(before) + len(frame) * taken


@pytest.mark.parametrize("take", FORMS)
def test_nothing_is_written_without_room(take: Any) -> None:
    data = delivery(1) + delivery(2, payload=b"z" * 7)
    assert take(data, 0, len(data), b"1", 0, (0, 0, 0, 0), Columns(1, 99).buffers)[1] == blocks.FULL
    for size, rows in ((1, 0), (2, 1), (8, 1), (9, 2)):
        columns = Columns(5, size)
        stop, why, needed, pending, counts = take(data, 0, len(data), b"1", 0, (0, 0, 0, 0), columns.buffers)
        assert counts[0] == rows
        assert why == (blocks.MORE if rows == 2 else blocks.FULL)
        assert needed == (0 if rows == 2 else len(data) - stop if rows else len(delivery(1)))
        assert pending == (5 if rows else -1)


# --- acknowledgements

LEAD, STORED = b"MSG i.", b'{"stream":"S",'


def ack(number: int = 7, body: bytes = STORED + b'"seq":12}', sid: bytes = b"1") -> bytes:
    return b"MSG i.%d %b %d\r\n%b\r\n" % (number, sid, len(body), body)


acks = st.sampled_from(
    [
        ack(),
        ack(8, STORED + b' "seq":1}'),
        *(
            ack(9, STORED + tail)
            for tail in (b'"seq":1,"duplicate":true}', b'"seq":}', b"}", b"", b'"seq":1} ')
        ),
        ack(9, STORED + b'"seq":12345678901234567890}'),
        ack(9, STORED + b'  "seq":1}'),
        ack(9, b'{"stream":"S2","seq":12}'),
        ack(9, b'{"error":{"code":503}}'),
        ack(10**17),
        ack(10**18),
        *(ack(sid=sid) for sid in (b"", b"x", b"12", b"1" * 19)),
        ack().replace(b" 24\r", b" 023\r"),
        ack().replace(b" 23\r", b" 22\r"),
        b"HMSG i.7 1 16 16\r\nNATS/1.0 503\r\n\r\n\r\n",
    ]
)


@given(
    st.lists(acks | st.binary(max_size=3), max_size=8).map(b"".join), st.integers(0, 50), st.integers(0, 3)
)
def test_both_forms_take_the_same_acks(data: bytes, missing: int, start: int) -> None:
    end = max(start, len(data) - missing)
    data += b"x" * max(0, end - len(data))
    compiled, plain = list[int](), list[int]()
    stop = _blocks.take_acks(bytearray(data), start, end, LEAD, STORED, compiled)
    assert stop == blocks.take_acks(bytearray(data), start, end, LEAD, STORED, plain)
    assert compiled == plain


@pytest.mark.parametrize("take", [_blocks.take_acks, blocks.take_acks])
def test_an_ack_that_says_more_is_left(take: Any) -> None:
    good = ack() + ack(8, STORED + b' "seq":1}')
    for more in (
        ack(9, STORED + b'"seq":1,"duplicate":true}'),
        ack(9, b'{"error":{"code":503}}'),
        ack()[:-1],
    ):
        numbers: list[int] = []
        assert take(good + more, 0, len(good + more), LEAD, STORED, numbers) == len(good)
        assert numbers == [7, 8]
