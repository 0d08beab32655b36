"""The compiled functions for consumers do what the plain ones do, on any bytes (see `test_twins`)."""

from __future__ import annotations

from array import array
from typing import Any, NamedTuple
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lib.publishes import VERBS, Scan, bodies, columns, scans, texts
from pyjs.native import acks, copies, framing, records

_native = pytest.importorskip("pyjs.native._native", reason="there was no compiler")


# --- acks

figures = st.sampled_from(
    [b"1", b"7", b"1700000000000000000", b"0"] * 3 + [b"", b"x", b"+1", b"9" * 19, b"9" * 20]
)
ack_tokens = st.sampled_from([b"S", b"S", b"C", b"", b"_"])


@st.composite
def ack_frames(draw: st.DrawFn) -> bytes:
    """An ack of one of a few consumers, mostly a plain one."""
    lead = draw(
        st.sampled_from(
            [b"$JS.ACK.S.C."] * 6 + [b"$JS.ACK._.h.S.C.", b"$JS.ACK.S.D.", b"$JS.ACK.", b"$JS.FC."]
        )
    )
    subject = lead + b".".join(draw(st.lists(figures, min_size=5, max_size=5)))
    if draw(st.integers(0, 7)) == 0:
        subject = lead + b".".join(draw(st.lists(ack_tokens | figures, max_size=9)))
    reply = draw(st.sampled_from([b"", b"", b"r.1 ", b"_R_.x ", b"$J "]))
    body = draw(st.sampled_from([b"+ACK", b"+ACK", b"", b"+OK", b"-NAK", b"+ACK ", b"+NX"]))
    header = draw(st.sampled_from([b""] * 9 + [b"N"]))
    size = b"%d %d" % (len(header), len(header + body)) if header else b"%d" % len(body)
    return b"%bPUB %b %b%b\r\n%b%b\r\n" % (b"H" if header else b"", subject, reply, size, header, body)


def found_acks(function: Any, *arguments: Any) -> Any:
    seqs: list[int] = []
    replies: list[tuple[int, bytes]] = []
    return function(*arguments, seqs, replies), seqs, replies


@given(
    st.lists(ack_frames(), max_size=6).map(b"".join),
    st.integers(0, 6),
    st.sampled_from([4096, 4096, 30]),
    st.sampled_from(VERBS[:2]),
    st.integers(0, 9),
)
def test_acks_are_found_as_by_the_plain_function(
    data: bytes, most: int, longest: int, verbs: tuple[bytes, bytes], cut: int
) -> None:
    arguments = data[: len(data) - cut] if cut > 5 else data, 0, most, longest, 1 << 20, verbs
    assert found_acks(_native.scan_acks, *arguments) == found_acks(acks.scan_acks, *arguments)


@given(scans())
def test_acks_are_looked_for_in_any_publishes(arguments: Scan) -> None:
    assert found_acks(_native.scan_acks, *arguments) == found_acks(acks.scan_acks, *arguments)


@pytest.mark.parametrize("function", [_native.scan_acks, acks.scan_acks])
def test_acks_are_those_of_one_consumer(function: Any) -> None:
    limits = 512, 4096, 1 << 20, (b"PUB ", b"HPUB ")
    one = b"PUB $JS.ACK.S.C.1.%d.3.4.0 4\r\n+ACK\r\n"
    asked = b"PUB $JS.ACK.S.C.2.9.3.4.0 r.1 0\r\n\r\n"
    data = one % 5 + asked + one % 6
    other = b"PUB $JS.ACK._.h.S.C.1.5.3.4.0.token 4\r\n+ACK\r\n"
    expected = (len(data), 8, b"$JS.ACK.S.C", 8), [5, 9, 6], [(9, b"r.1")]
    for following in (b"", b"PING\r\n", other, one % 0, one.replace(b"+ACK", b"-NAK") % 1):
        assert found_acks(function, data + following, 0, *limits) == expected
    assert found_acks(function, other, 0, *limits) == ((len(other), 4, b"$JS.ACK._.h.S.C", 11), [5], [])


@pytest.mark.parametrize("function", [_native.scan_acks, acks.scan_acks])
@pytest.mark.parametrize(
    ("subject", "head", "seq"),
    [
        (b"$JS.ACK.S.C.1.5.3.4.0", b"$JS.ACK.S.C", 5),
        (b"$JS.ACK.S.C.1.5.3.4", b"", 0),
        (b"$JS.ACK._.h.S.C.1.5.3.4", b"", 0),  # nine dots
        (b"$JS.ACK._.h.S.C.1.5.3.4.0", b"$JS.ACK._.h.S.C", 5),
        (b"$JS.ACK._.h.S.C.1.5.3.4.0.x", b"$JS.ACK._.h.S.C", 5),
        (b"$JS.ACK._.h.S.C.1.5.3.4.0..", b"$JS.ACK._.h.S.C", 5),
        (b"$JS.ACK._.h.S.C.1.5.3.4.x.0", b"", 0),
        (b"$JS.ACK.S.C.1.%b.3.4.0" % (b"9" * 19), b"$JS.ACK.S.C", 10**19 - 1),
        (b"$JS.ACK.S.C.1.%b.3.4.0" % (b"9" * 20), b"", 0),
        (b"$JS.ACK.S.C.1.0.3.4.0", b"", 0),
        (b"$JS.ACK.S.C.1.+5.3.4.0", b"", 0),
        (b"$JS.ACK.S.C..5.3.4.0", b"", 0),
        (b"$JS.ACX.S.C.1.5.3.4.0", b"", 0),
    ],
)
def test_an_ack_is_read_by_the_number_of_its_tokens(
    function: Any, subject: bytes, head: bytes, seq: int
) -> None:
    frame = b"PUB %b 0\r\n\r\n" % subject
    (stop, _, found, _), seqs, _ = found_acks(function, frame, 0, 512, 4096, 1 << 20, (b"PUB ", b"HPUB "))
    assert (stop, found, seqs) == (len(frame) if seq else 0, head, [seq] if seq else [])


# --- reading messages


class Stored(NamedTuple):
    """A message that was read, as the store has it."""

    seq: int
    subject: str
    header: bytes
    body: bytes
    time: int


@st.composite
def spoilt_records(draw: st.DrawFn) -> tuple[Any, ...]:
    """Records and what is expected of them: right, or with a byte changed before or after sealing."""
    (stored, column, times), seed = draw(columns()), draw(st.integers(0, 3))
    encoded, offsets, lengths, _ = records.encode_messages(stored, column, times, seed, 100)
    seqs = column[:]
    if draw(st.booleans()) and encoded:
        row, place = draw(st.integers(0, len(encoded) - 1)), draw(st.integers(4, 40))
        changed = bytearray(encoded[row])
        if place < len(changed):
            changed[place] = draw(st.integers(0, 255))
        if draw(st.booleans()):  # a peer's record, with a right checksum over wrong fields
            changed[:4] = records.pack_checksum(crc32(changed[4:], seed))
        encoded[row] = bytes(changed)
    for column in (seqs, offsets, lengths):
        if column and draw(st.integers(0, 5)) == 0:
            column[draw(st.integers(0, len(column) - 1))] = draw(st.sampled_from([0, 31, 32, 100, 1 << 31]))
    data = b"".join(encoded)
    data = data[: draw(st.integers(0, len(data)))] if draw(st.integers(0, 3)) == 0 else data
    numbers = array("I", range(len(stored)))
    start = draw(st.sampled_from([100, 100, 100, 99, 101]))
    return data, start, seed, seqs, offsets, lengths, numbers, [subject for subject, _, _ in stored]


@given(spoilt_records())
def test_messages_are_decoded_as_by_the_plain_function(arguments: tuple[Any, ...]) -> None:
    found = _native.decode_messages(Stored, *arguments)
    assert found == records.decode_messages(Stored, *arguments)
    assert all(type(one) is Stored and one._replace(time=0) for one in found)


@given(spoilt_records(), st.integers(0, 5))
def test_one_message_is_decoded_as_by_the_plain_function(arguments: tuple[Any, ...], row: int) -> None:
    data, start, seed, seqs, offsets, lengths, _, names = arguments
    if row >= len(seqs):
        return
    place = offsets[row] - start
    record = data[max(place, 0) : max(place, 0) + (lengths[row] & records.LENGTH)]
    found = _native.decode_message(Stored, record, seed, seqs[row], names[row])
    assert found == records.decode_message(Stored, record, seed, seqs[row], names[row])
    if not row and place == 0:
        run = records.decode_messages(
            Stored, record, 0, seed, seqs[:1], array("I", [0]), lengths[:1], array("I", [0]), names
        )
        whole = len(record) == lengths[0] & records.LENGTH
        assert not whole or run == ([] if found is None else [found])
    assert found is None or type(found) is Stored


@given(columns())
def test_what_was_encoded_is_decoded(arguments: tuple[Any, ...]) -> None:
    stored, seqs, times = arguments
    encoded, *places, _ = _native.encode_messages(stored, seqs, times, 7, 0)
    names = [subject for subject, _, _ in stored]
    numbers = array("I", range(len(stored)))
    found = _native.decode_messages(Stored, b"".join(encoded), 0, 7, seqs, *places, numbers, names)
    assert found == [(seq, *one, time) for seq, one, time in zip(seqs, stored, times, strict=True)]
    alone = zip(encoded, seqs, names, strict=True)
    assert found == [_native.decode_message(Stored, data, 7, seq, name) for data, seq, name in alone]


# --- sending them

BIG = (1 << 63) - 20
stored_messages = st.builds(
    Stored,
    st.sampled_from([0, 9, 10, 1 << 40, BIG, (1 << 64) - 1]),
    texts,
    st.sampled_from([b"", b"", b"NATS/1.0\r\n\r\n", b"x" * 100]),
    bodies | st.just(b"y" * 1000),
    st.sampled_from([0, -1, 1_700_000_000_000_000_000, -(1 << 63), (1 << 63) - 1]),
)


copied_headers = st.sampled_from(
    [
        b"",
        b"NATS/1.0\r\n\r\n",
        b"NATS/1.0\r\nNats-Msg-Id: one\r\n\r\n",
        b"NATS/1.0\r\nNats-Msg-Id:two",
        b"NATS/1.0\r\nNats-Msg-Id: \r\n\r\n",
        b"NATS/1.0\r\nNats-Stream-Source: O 1\r\n\r\n",
        b"NATS/1.0 100\r\n\r\n",
        b"NATS/1.0\r\nA: " + bytes(65_450) + b"\r\n\r\n",
        b"x",
    ]
) | st.binary(max_size=12)


@given(
    st.lists(st.tuples(stored_messages, copied_headers), max_size=6),
    st.integers(0, 2),
    st.sampled_from([1 << 62, 1 << 62, 90, 0]),
    st.none() | st.dictionaries(st.sampled_from([b"one", b"two", b""]), st.sampled_from([0, 7, 1 << 40])),
    st.tuples(
        st.sampled_from([b"", b"Nats-Stream-Source: O "]),
        st.sampled_from([b"", b" > > "]) | st.none(),
        st.sampled_from([b"\r\n\r\n", b" id\r\n\r\n"]),
    ),
    st.sampled_from([1, 9, (1 << 64) - 20]),
)
def test_copies_are_taken_as_by_the_plain_function(
    drawn: list[tuple[Stored, bytes]],
    start: int,
    most: int,
    known: dict[bytes, int] | None,
    label: tuple[bytes, bytes | None, bytes],
    first: int,
) -> None:
    found = [message._replace(header=header) for message, header in drawn]
    start = min(start, len(found))
    results = []
    for function in (_native.take_copies, copies.take_copies):
        ids = None if known is None else dict(known)
        lists: tuple[list[Any], list[Any]] = [], []
        originals = [message.subject for message in found]
        taken = function(found, originals, start, most, ids, label, first, 5, *lists)
        results.append((taken, ids, lists))
    assert results[0] == results[1]


@pytest.mark.parametrize("function", [_native.take_copies, copies.take_copies])
@pytest.mark.parametrize(
    ("header", "taken", "recorded"),
    [
        (b"", True, b""),
        (b"NATS/1.0\r\nNats-Msg-Id: new\r\n\r\n", True, b"new"),
        (b"NATS/1.0\r\nNats-Msg-Id: old\r\n\r\n", None, b""),
        (b"NATS/1.0\r\nNats-TTL: 1s\r\n\r\n", False, b""),
        (b"NATS/1.0\r\nA: " + bytes(65_535 - 21) + b"\r\n\r\n", True, b""),  # the longest with its label
        (b"NATS/1.0\r\nA: " + bytes(65_535 - 20) + b"\r\n\r\n", False, b""),
    ],
    ids=["none", "new", "old", "special", "longest", "longer"],
)
def test_a_copy_gets_a_label_and_its_id_counts(
    function: Any, header: bytes, taken: bool | None, recorded: bytes
) -> None:
    """taken: None where it is a duplicate, False where it needs more."""
    known, made, ids = {b"old": 7}, list[Any](), list[Any]()
    message = Stored(5, "a", header, b"body", 9)
    label = b"L", None, b"\r\n\r\n"
    found = function([message], ["a"], 0, 1 << 20, known, label, 3, 11, made, ids)
    labelled = (header[:-2] or b"NATS/1.0\r\n") + b"L5\r\n\r\n"
    assert found == (taken is not False, recorded, 5 if taken else 0)
    assert made == ([("a", labelled, b"body")] if taken else [])
    assert ids == ([(11, b"new", 3)] if recorded else [])
    assert known == {b"old": 7} | ({b"new": 3} if recorded else {})


@pytest.mark.parametrize("function", [_native.take_copies, copies.take_copies])
def test_copies_that_are_stored_count(function: Any) -> None:
    bodies = [b"NATS/1.0\r\nNats-Msg-Id: %b\r\n\r\n" % name for name in (b"x", b"old", b"y")]
    messages = [Stored(number, "a", header, b"", 9) for number, header in enumerate((*bodies, b""), 5)]
    known, made, ids = {b"old": 7}, list[Any](), list[Any]()
    label = b"L", None, b"\r\n\r\n"
    assert function(messages, [], 0, 99, known, label, 3, 11, made, ids) == (4, b"", 8)
    assert ids == [(11, b"x", 3), (11, b"y", 4)]
    assert known == {b"old": 7, b"x": 3, b"y": 4}
    assert len(made) == 3


@pytest.mark.parametrize("function", [_native.take_copies, copies.take_copies])
@pytest.mark.parametrize(("most", "taken"), [(25, 1), (24, 0)])
def test_a_copy_is_no_larger_than_a_message_may_be(function: Any, most: int, taken: int) -> None:
    made: list[Any] = []
    label = b"L", b">", b"\r\n\r\n"
    found = function([Stored(5, "a", b"", b"body", 9)], ["gr\u00fc"], 0, most, None, label, 3, 11, made, [])
    assert (found[0], made) == (taken, [("a", b"NATS/1.0\r\nL5>gr\xc3\xbc\r\n\r\n", b"body")][:taken])


@given(
    st.lists(stored_messages, min_size=1, max_size=6),
    st.integers(0, 5),
    st.sampled_from([b"", b"1", b"long\xff"]),
    st.sampled_from([b"", b"$JS.ACK.S.C.1.", b"%d"]),
    st.sampled_from([0, 8, 1 << 40, BIG]),
    st.sampled_from([0, 3, 9, 10, BIG]),
)
def test_deliveries_are_framed_as_by_the_plain_function(
    found: list[Stored], dropped: int, sid: bytes, prefix: bytes, number: int, pending: int
) -> None:
    arguments = found, max(1, len(found) - dropped), sid, prefix, number, pending
    assert _native.frame_deliveries(*arguments) == framing.frame_deliveries(*arguments)
