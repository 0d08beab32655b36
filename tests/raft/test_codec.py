"""Messages as bytes: every message is decoded to what it was; anything else is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyjs.raft import (
    AppendEntries,
    AppendEntriesAccepted,
    AppendEntriesRejected,
    Entry,
    Heartbeat,
    HeartbeatReply,
    InstallSnapshot,
    InstallSnapshotReply,
    Members,
    RaftMessage,
    RequestVote,
    RequestVoteReply,
    TimeoutNow,
)
from pyjs.raft.codec import CodecError, decode, encode

names = st.text(max_size=8)
number = st.integers(0, (1 << 64) - 1)
entries = st.lists(st.builds(Entry, number, st.integers(0, 2), st.binary(max_size=20)), max_size=4)
members = st.builds(Members.of, st.sets(names, max_size=3), st.sets(names, max_size=2))
head = {"source": names, "to": names, "term": number}
messages: st.SearchStrategy[RaftMessage] = st.one_of(
    st.builds(RequestVote, **head, pre=st.booleans(), last=number, last_term=number, transfer=st.booleans()),
    st.builds(RequestVoteReply, **head, pre=st.booleans(), granted=st.booleans()),
    st.builds(
        AppendEntries,
        **head,
        prev=number,
        prev_term=number,
        entries=entries,
        commit=number,
        last=number,
        echo=number,
    ),
    st.builds(AppendEntriesAccepted, **head, index=number, boot=number),
    st.builds(
        AppendEntriesRejected, **head, prev=number, hint=st.integers(-1, 99), hint_term=number, boot=number
    ),
    st.builds(Heartbeat, **head, commit=number, last=number, echo=number, answer=st.booleans()),
    st.builds(HeartbeatReply, **head, boot=number),
    st.builds(
        InstallSnapshot,
        **head,
        index=number,
        index_term=number,
        members=members,
        offset=number,
        size=number,
        data=st.binary(max_size=30),
        last=number,
        echo=number,
    ),
    st.builds(InstallSnapshotReply, **head, index=number, offset=number, boot=number),
    st.builds(TimeoutNow, **head),
)


@given(names, messages)
def test_every_message_comes_back(group: str, message: RaftMessage) -> None:
    assert decode(encode(group, message)) == (group, message)


@given(st.binary(max_size=80))
def test_junk_is_refused_or_means_something(junk: bytes) -> None:
    try:
        group, message = decode(junk)
    except CodecError:
        return
    assert decode(encode(group, message)) == (group, message)


@given(names, messages, st.data())
def test_a_message_that_is_cut_off_is_not_misread(
    group: str, message: RaftMessage, data: st.DataObject
) -> None:
    whole = encode(group, message)
    cut = whole[: data.draw(st.integers(0, len(whole) - 1))]
    try:
        found = decode(cut)
    except CodecError:
        return
    # Only what has a part of free length at its end can be shorter and still be whole.
    assert isinstance(found[1], (AppendEntries, InstallSnapshot))


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(CodecError):
        decode(b"\xff")
