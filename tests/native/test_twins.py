"""The compiled functions do what the plain ones do: on what applications send, and on any bytes."""

from __future__ import annotations

from array import array
from random import Random
from typing import Any, NamedTuple
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lib.publishes import VERBS, Scan, bodies, columns, names, scans
from pyjs import native
from pyjs.native import fields, ingest, publishes, records, replies, sequences
from pyjs.store.sequences import Sequences

_native = pytest.importorskip("pyjs.native._native", reason="there was no compiler")
_blocks = pytest.importorskip("pyjs.native._blocks", reason="there was no compiler")


@given(scans())
def test_a_scan_finds_what_the_plain_one_finds(arguments: Scan) -> None:
    plain: list[Any] = []
    compiled: list[Any] = []
    assert _native.scan_publishes(*arguments, compiled) == publishes.scan_publishes(*arguments, plain)
    assert compiled == plain


@given(st.binary(), st.sampled_from(VERBS))
def test_a_scan_of_any_bytes(data: bytes, verbs: tuple[bytes, bytes]) -> None:
    ops: list[Any] = []
    assert 0 <= _native.scan_publishes(data, 0, 512, 4096, 1 << 20, verbs, ops) <= len(data)


# --- publishes to a stream

header_parts = st.sampled_from(
    [
        b"NATS/1.0\r\n",
        b"NATS/1.0",
        b"\r\n",
        b"\r",
        b"\n",
        b"Nats-Msg-Id:",
        b"Nats-Msg-Id: one\r\n",
        b"Nats-",
        b" ",
        b"\t",
        b"Nats-TTL: 1s\r\n",
        b"Nats-Msg-Id:  two \r\n",
        b"A: b\r\n",
        b"one",
        b"Nats-Msg-Id",
    ]
)
good_headers = st.sampled_from([b"", b"NATS/1.0\r\nNats-Msg-Id: %b\r\n\r\n"]).flatmap(
    lambda header: st.binary(max_size=2).map(lambda name: header.replace(b"%b", name))
)
any_headers = good_headers | st.lists(header_parts, max_size=8).map(b"".join) | st.binary(max_size=12)


@st.composite
def runs(draw: st.DrawFn) -> list[tuple[bytes, bytes, int, int, bytes]]:
    """Publishes that came together, with any headers."""
    made = []
    for _ in range(draw(st.integers(0, 8))):
        header, body = draw(any_headers), draw(bodies)
        size = len(header) + len(body)
        reply = draw(st.sampled_from([b"", b"r.1", b"\xff", b"r.$FI", b".$FI", b"$FI", b".$FIx"]))
        start = draw(st.sampled_from([b"5\r\n", b"reply 3 3\r\n"]))
        made.append((draw(names), reply, len(header), size, start + header + body + b"\r\n"))
    return made


def taken(function: Any, *arguments: Any) -> Any:
    *first, known = arguments
    known = None if known is None else dict(known)
    run, start, most, ack, sequence = first
    start = min(start, len(run))
    lists: tuple[list[Any], ...] = ([], [], [])
    return function(run, start, most, known, ack, sequence, 5, *lists), known, lists


@given(
    st.tuples(
        runs(),
        st.integers(0, 3),
        st.sampled_from([1 << 62, 1 << 62, 20, 0]),
        st.sampled_from([b'{"seq":', b"", None]),
        st.sampled_from([1, 9, 10, 1 << 32, (1 << 64) - 20]),
        st.none()
        | st.dictionaries(st.sampled_from([b"one", b"two", b"", b"a"]), st.sampled_from([0, 7, 1 << 40])),
    )
)
def test_publishes_are_taken_as_by_the_plain_function(arguments: tuple[Any, ...]) -> None:
    assert taken(_native.take_publishes, *arguments) == taken(ingest.take_publishes, *arguments)


@pytest.mark.parametrize("function", [_native.take_publishes, ingest.take_publishes])
@pytest.mark.parametrize(
    ("header", "identifier"),
    [
        (b"", b""),
        (b"NATS/1.0\r\nA: b\r\n\r\n", b""),
        (b"NATS/1.0\r\nNats-Msg-Id: \t x y \r\n\r\n", b"x y"),
        (b"NATS/1.0\r\nNats-Msg-Id:x", b"x"),
        (b"NATS/1.0\r\nNats-Msg-Id:x\ry\r\n\r\n", b"x\ry"),
        (b"NATS/1.0\r\nNats-Msg-Id: \r\n\r\n", None),
        (b"NATS/1.0\r\nNats-Msg-Id: x\r\nNats-TTL: 1\r\n\r\n", None),
        (b"NATS/1.0\r\nNats-Msg-Id-: x\r\n\r\n", None),
        (b"NATS/1.0 200\r\n\r\n", None),
        (b"NATS/1.0\r\nA: " + bytes(65535 - 17) + b"\r\n\r\n", b""),
        (b"NATS/1.0\r\nA: " + bytes(65536 - 17) + b"\r\n\r\n", None),
    ],
)
def test_only_a_message_id_is_judged(function: Any, header: bytes, identifier: bytes | None) -> None:
    run = [(b"s", b"r", len(header), len(header) + 1, b"r 0\r\n" + header + b"x\r\n")]
    (stop, last), _, (messages, ids, answers) = taken(function, run, 0, 1 << 20, b"#", 4, {})
    if identifier is None:
        assert (stop, messages, ids, answers) == (0, [], [], [])
        return
    assert (stop, last, messages, answers) == (1, identifier, [("s", header, b"x")], [(b"r", b"#4}")])
    assert ids == ([(5, identifier, 4)] if identifier else [])


@pytest.mark.parametrize("function", [_native.take_publishes, ingest.take_publishes])
@pytest.mark.parametrize(("most", "count"), [(5, 1), (4, 0)])
def test_a_publish_is_no_larger_than_a_message_may_be(function: Any, most: int, count: int) -> None:
    run = [(b"s", b"", 0, 5, b"5\r\n12345\r\n")]
    (stop, _), _, (messages, _, _) = taken(function, run, 0, most, None, 4, None)
    assert (stop, messages) == (count, [("s", b"", b"12345")][:count])


# --- stores


@given(
    st.tuples(
        columns(),
        st.integers(0, (1 << 32) - 1),
        st.sampled_from([0, 64, 1 << 24]),
    )
)
def test_records_are_those_of_the_plain_function(arguments: tuple[Any, ...]) -> None:
    to_store, *rest = arguments
    assert _native.encode_messages(*to_store, *rest) == records.encode_messages(*to_store, *rest)


@pytest.mark.parametrize("seqs", [array("Q", [1]), array("Q", [1, 2, 3]), array("I", [1, 2])])
@pytest.mark.parametrize("function", [_native.encode_messages, records.encode_messages])
def test_columns_must_have_an_entry_for_each_message(function: Any, seqs: array[int]) -> None:
    if function is records.encode_messages and seqs.typecode == "I":
        return  # only a compiled function reads what a column has in memory
    with pytest.raises((ValueError, TypeError)):
        function([("a", b"", b""), ("b", b"", b"")], seqs, array("q", [5, 5]), 0, 0)


@given(st.integers(0, 300) | st.integers(0, 1 << 17), st.integers(0, (1 << 32) - 1), st.randoms())
def test_checksums_are_those_of_zlib(size: int, seed: int, rng: Random) -> None:
    one = [("", b"", rng.randbytes(size))], array("Q", [1]), array("q", [2])
    ((record,), *_) = _native.encode_messages(*one, seed, 0)
    assert int.from_bytes(record[:4], "little") == crc32(record[4:], seed)


@given(columns())
def test_messages_are_kept_as_by_the_plain_function(arguments: tuple[Any, ...]) -> None:
    plain: dict[int, Any] = {}
    compiled: dict[int, Any] = {}
    assert _native.keep_messages(compiled, *arguments) == records.keep_messages(plain, *arguments)
    assert compiled == plain


def added(function: Any, subjects: str, start: int, lengths: list[int], more: bool) -> Any:
    """Add a message for each letter, to subjects that have as many sequences; "d" has one, others are new.

    more: whether new subjects are added.
    """
    columns: list[Any] = [Sequences(range(1, length + 1)) for length in lengths] + [1]
    ids = {"a": 0, "b": 1, "c": 2, "d": 3}
    numbers, names = array("I", [9]), ["a", "b", "c", "d"]
    seqs = array("Q", range(20_000, 20_000 + 3 * len(subjects), 3))
    rest = start, seqs, numbers, Sequences, names if more else None
    stop = function(ids, columns, [(letter, b"", b"") for letter in subjects], *rest)
    found = [one if isinstance(one, int) else (list(one), one.count) for one in columns]
    return stop, numbers, found, ids, names


@given(
    st.text("aaabbbcccdef", max_size=8),
    st.integers(0, 2),
    st.lists(st.sampled_from([0, 5, 8191, 8192]), min_size=3, max_size=3),
    st.booleans(),
)
def test_sequences_are_added_as_by_the_plain_function(
    subjects: str, start: int, lengths: list[int], more: bool
) -> None:
    start = min(start, len(subjects))
    plain = added(sequences.add_sequences, subjects, start, lengths, more)
    assert added(_native.add_sequences, subjects, start, lengths, more) == plain
    assert plain[0] == len(subjects) or (not more and subjects[plain[0]] in "ef")


# --- answers


class Subscriber(NamedTuple):
    """What `frame_replies` reads of a subscription."""

    sid: bytes


inboxes = st.sampled_from(
    [b"a.1", b"a.2", b"a.long.1", b"b.1", b"b.end", b"x", b"", b".", b".x", b"a.", b"a.lit", b"c.1"]
)
HEADS = (b"a", b"a.long", b"b", b"", b"c")
replied = st.lists(st.tuples(inboxes, st.sampled_from([b"", b"one", b"x" * 12])), max_size=6)


@given(
    replied,
    st.integers(0, 3),
    st.integers(0, 6),
    st.lists(st.integers(0, 2), min_size=5, max_size=5),
    st.booleans(),
)
def test_replies_are_framed_as_by_the_plain_function(
    drawn: list[tuple[bytes, bytes]], start: int, most: int, owners: list[int], others: bool
) -> None:
    known = [(Subscriber(b"1"), "one"), (Subscriber(b"22"), "two"), None]
    receivers = {head: known[owner] for head, owner in zip(HEADS, owners, strict=True)}
    sets = ({b"c.1"}, {b"end"}, {"a.lit"}) if others else (set(), set(), set())
    arguments = (drawn, start, most, sets[0], receivers, *sets[1:])
    framed = replies.frame_replies(*arguments)
    assert _native.frame_replies(*arguments) == framed
    if framed[1] is not None:
        assert framed[2].startswith(b"MSG %b %b " % (drawn[start][0], framed[1][0].sid))


class Queue(NamedTuple):
    """What `frame_answers` reads of a queue."""

    headers: bool


@given(
    replied,
    st.lists(st.sampled_from([b"", b"NATS/1.0\r\n\r\n"]), min_size=6, max_size=6),
    st.tuples(st.integers(0, 3), st.integers(0, 6)),
    st.lists(st.integers(0, 2), min_size=5, max_size=5),
    st.booleans(),
)
def test_answers_are_framed_as_by_the_plain_function(
    drawn: list[tuple[bytes, bytes]],
    headers: list[bytes],
    part: tuple[int, int],
    owners: list[int],
    others: bool,
) -> None:
    known = [(Subscriber(b"1"), Queue(True)), (Subscriber(b"22"), Queue(False)), None]
    receivers = {head: known[owner] for head, owner in zip(HEADS, owners, strict=True)}
    sets = ({b"c.1"}, {b"end"}, {"a.lit"}) if others else (set(), set(), set())
    answers = [(subject, header, body) for (subject, body), header in zip(drawn, headers, strict=False)]
    arguments = (answers, *part, sets[0], receivers, *sets[1:])
    framed = replies.frame_answers(*arguments)
    assert _native.frame_answers(*arguments) == framed
    stop, receiver, frames, size = framed
    if receiver is None:
        assert (stop, frames, size) == (part[0], b"", 0)
        return
    taken = answers[part[0] : stop]
    assert frames.count(b"HMSG ") == (
        sum(map(bool, (header for _, header, _ in taken))) if receiver[1].headers else 0
    )
    assert frames.count(b"MSG ") == len(taken)


@pytest.mark.parametrize("function", [_native.frame_answers, replies.frame_answers])
def test_answers_have_their_headers_where_the_queue_takes_them(function: Any) -> None:
    answers = [(b"a.1", b"H\r\n", b"one"), (b"a.2", b"", b""), (b"a.3", b"HH", b"x" * 12)]
    for headers, frames, size in (
        (True, b"HMSG a.1 7 3 6\r\nH\r\none\r\nMSG a.2 7 0\r\n\r\nHMSG a.3 7 2 14\r\nHH%b\r\n", 20),
        (False, b"MSG a.1 7 3\r\none\r\nMSG a.2 7 0\r\n\r\nMSG a.3 7 12\r\n%b\r\n", 15),
    ):
        receiver = Subscriber(b"7"), Queue(headers)
        found = function(answers, 0, 9, set(), {b"a": receiver}, set(), set())
        assert found == (3, receiver, frames % (b"x" * 12), size)


def test_every_compiled_function_has_a_plain_twin() -> None:
    both = {**vars(_native), **vars(_blocks)}
    compiled = {name for name, found in both.items() if callable(found) and not name.startswith("_")}
    assert compiled == {name for name in native.__all__ if not name.isupper()}


def test_the_compiled_fields_are_the_plain_ones() -> None:
    for name in (name for name in native.__all__ if name.endswith("Fields")):
        compiled = {field for field in vars(getattr(_native, name)) if not field.startswith("_")}
        assert compiled == set(getattr(fields, name).__slots__)
