"""Messages as bytes: every message comes back as it was; anything else is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyjs.server.cluster.raft import (
    Append,
    Appended,
    AskVote,
    CampaignNow,
    Entry,
    Heartbeat,
    HeartbeatReply,
    Members,
    Message,
    PartTaken,
    Refused,
    SnapshotPart,
    Vote,
)
from pyjs.server.cluster.raft.codec import CodecError, decode, encode

names = st.text(max_size=8)
number = st.integers(0, (1 << 64) - 1)
entries = st.lists(st.builds(Entry, number, st.integers(0, 2), st.binary(max_size=20)), max_size=4)
members = st.builds(Members.of, st.sets(names, max_size=3), st.sets(names, max_size=2))
head = {"source": names, "to": names, "term": number}
messages: st.SearchStrategy[Message] = st.one_of(
    st.builds(AskVote, **head, pre=st.booleans(), last=number, last_term=number, transfer=st.booleans()),
    st.builds(Vote, **head, pre=st.booleans(), granted=st.booleans()),
    st.builds(
        Append,
        **head,
        prev=number,
        prev_term=number,
        entries=entries,
        commit=number,
        last=number,
        echo=number,
    ),
    st.builds(Appended, **head, index=number, boot=number),
    st.builds(Refused, **head, prev=number, hint=st.integers(-1, 99), hint_term=number, boot=number),
    st.builds(Heartbeat, **head, commit=number, last=number, echo=number, answer=st.booleans()),
    st.builds(HeartbeatReply, **head, boot=number),
    st.builds(
        SnapshotPart,
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
    st.builds(PartTaken, **head, index=number, offset=number, boot=number),
    st.builds(CampaignNow, **head),
)


@given(names, messages)
def test_every_message_comes_back(group: str, message: Message) -> None:
    assert decode(encode(group, message)) == (group, message)


@given(st.binary(max_size=80))
def test_junk_is_refused_or_means_something(junk: bytes) -> None:
    try:
        group, message = decode(junk)
    except CodecError:
        return
    assert decode(encode(group, message)) == (group, message)


@given(names, messages, st.data())
def test_a_message_that_is_cut_off_is_not_misread(group: str, message: Message, data: st.DataObject) -> None:
    whole = encode(group, message)
    cut = whole[: data.draw(st.integers(0, len(whole) - 1))]
    try:
        found = decode(cut)
    except CodecError:
        return
    # Only what has a part of free length at its end can be shorter and still be whole.
    assert isinstance(found[1], (Append, SnapshotPart))


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(CodecError):
        decode(b"\xff")
