"""Entries as bytes: they are decoded to what they were, and nothing else is taken for one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyjs.server.jetstream.replication import entry

TIME = st.integers(-(1 << 63), (1 << 63) - 1)
SEQ = st.integers(0, (1 << 64) - 1)
NAME = st.text(min_size=1, max_size=20)
BYTES = st.binary(max_size=40)
SUBJECT = st.sampled_from([b"a", b"b.c", b"b.c", "ü.x".encode(), b"\xff"])


@st.composite
def publish(draw: st.DrawFn) -> tuple[bytes, bytes, int, int, bytes]:
    header, body = draw(BYTES), draw(BYTES)
    return draw(SUBJECT), draw(BYTES), len(header), len(header) + len(body), header + body + b"\r\n"


ENTRIES = st.one_of(
    st.builds(entry.Publishes, TIME, st.lists(publish(), max_size=6)),
    st.builds(entry.DeleteMsg, TIME, SEQ, st.booleans()),
    st.builds(entry.Purge, TIME, st.text(max_size=10), SEQ, SEQ),
    st.builds(entry.Expire, TIME, st.sampled_from([entry.AGE, entry.LIFETIMES])),
    st.builds(entry.Configure, TIME, BYTES),
    st.builds(entry.AddConsumer, TIME, TIME, NAME, BYTES),
    st.builds(entry.RemoveConsumer, TIME, NAME),
    st.builds(entry.ConsumerDelta, TIME, NAME, st.integers(0, (1 << 32) - 1), st.booleans(), BYTES),
    st.builds(entry.MirroredMsgs, TIME, st.lists(st.tuples(SEQ, TIME, NAME, BYTES, BYTES), max_size=4)),
    st.builds(entry.SourcedMsgs, TIME, st.lists(st.tuples(NAME, NAME, SEQ, NAME, BYTES, BYTES), max_size=4)),
    st.builds(entry.Skip, TIME, SEQ),
    st.builds(entry.ForgetSource, TIME, NAME),
)


@given(ENTRIES)
def test_what_is_written_is_read(wanted: entry.Entry) -> None:
    assert entry.decode(entry.encode(wanted)) == wanted


@given(ENTRIES, st.data())
def test_a_cut_is_no_entry_or_one_of_free_length(wanted: entry.Entry, data: st.DataObject) -> None:
    whole = entry.encode(wanted)
    cut = whole[: data.draw(st.integers(0, len(whole) - 1))]
    free = (
        entry.Configure,
        entry.AddConsumer,
        entry.RemoveConsumer,
        entry.ConsumerDelta,
        entry.Purge,
        entry.ForgetSource,
    )
    try:
        found = entry.decode(cut)
    except entry.StreamEntryError:
        return
    assert isinstance(found, free)


@given(st.binary(max_size=80))
def test_anything_else_is_refused_in_one_way(data: bytes) -> None:
    try:
        entry.decode(data)
    except entry.StreamEntryError:
        return
    assert data[:1] == bytes([entry.VERSION])


def test_a_later_version_is_refused() -> None:
    data = entry.encode(entry.Skip(1, 2))
    with pytest.raises(entry.StreamEntryError, match="version 2, kind 11"):
        entry.decode(b"\x02" + data[1:])


def test_a_read_s_tail_may_have_more_in_front() -> None:
    run = [(b"s", b"r", 0, 2, b"r 2\r\nhi\r\n"), (b"s", b"", 0, 0, b"0\r\n\r\n")]
    found = entry.decode(entry.encode_publishes(7, run))
    assert found == entry.Publishes(7, [(b"s", b"r", 0, 2, b"hi\r\n"), (b"s", b"", 0, 0, b"\r\n")])
