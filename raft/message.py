"""The messages between members. Every message may be lost, doubled, delayed and overtaken.

Fields that several have:

boot: how often the answering member has started; see `HardState`.
echo: the `boot` of the receiver that the leader last knew; see `follower`.
last: the last index of the sender's log.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .entry import Entry
from .members import Members


@dataclass(frozen=True, slots=True)
class RaftMessage:
    """What all messages have.

    source: the id of the member that sends it.
    to: the id of the member that it is for.
    term: the sender's. In a pre-vote and the grant of one: the term that the candidate would have.
    """

    source: str
    to: str
    term: int


@dataclass(frozen=True, slots=True)
class RequestVote(RaftMessage):
    """A candidate asks for a vote (thesis 3.4).

    pre: it asks only whether it would get the vote (thesis 9.6).
    last, last_term: index and term of the last entry of its log.
    transfer: the leader itself wants the election (thesis 3.10).
    """

    pre: bool
    last: int
    last_term: int
    transfer: bool = False


@dataclass(frozen=True, slots=True)
class RequestVoteReply(RaftMessage):
    """The answer to a candidate.

    pre: whether it answers a pre-vote.
    granted: whether the vote is given, or would be.
    """

    pre: bool
    granted: bool


@dataclass(frozen=True, slots=True)
class AppendEntries(RaftMessage):
    """A leader sends entries (thesis 3.5).

    prev, prev_term: index and term of the entry before the first one.
    entries: they follow `prev` without a gap; there may be none.
    commit: the leader's commit index.
    """

    prev: int
    prev_term: int
    entries: Sequence[Entry]
    commit: int
    last: int
    echo: int


@dataclass(frozen=True, slots=True)
class AppendEntriesAccepted(RaftMessage):
    """The follower's log is durable, and the leader's, up to `index`."""

    index: int
    boot: int


@dataclass(frozen=True, slots=True)
class AppendEntriesRejected(RaftMessage):
    """The follower's log does not have the entry that precedes the leader's.

    prev: that of the message that is rejected.
    hint, hint_term: the last index at which the logs may agree, and its term in the follower's log; -1 asks
        for the snapshot.
    """

    prev: int
    hint: int
    hint_term: int
    boot: int


@dataclass(frozen=True, slots=True)
class Heartbeat(RaftMessage):
    """A leader says that it leads.

    commit: the leader's commit index, but no more than the follower is known to have.
    answer: whether a `HeartbeatReply` is wanted.
    """

    commit: int
    last: int
    echo: int
    answer: bool


@dataclass(frozen=True, slots=True)
class HeartbeatReply(RaftMessage):
    """The member follows; or it is in a later term than the leader that sent something."""

    boot: int


@dataclass(frozen=True, slots=True)
class InstallSnapshot(RaftMessage):
    """A leader sends a part of its snapshot (thesis 5.1).

    index, index_term, members: as in `Snapshot`.
    offset: where in the snapshot's data this part begins, in bytes.
    size: of the whole data, in bytes.
    data: this part.
    """

    index: int
    index_term: int
    members: Members
    offset: int
    size: int
    data: bytes
    last: int
    echo: int


@dataclass(frozen=True, slots=True)
class InstallSnapshotReply(RaftMessage):
    """The data of the snapshot at `index` has arrived up to `offset`."""

    index: int
    offset: int
    boot: int


@dataclass(frozen=True, slots=True)
class TimeoutNow(RaftMessage):
    """The receiver has all that the leader has, and is to begin an election at once (thesis 3.10)."""
