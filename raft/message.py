"""The messages between members. Any message may be lost, duplicated, delayed or reordered.

Fields that several messages have:

boot: how often the answering member has started; see `HardState`.
echo: the receiver's `boot`, as the leader last knew it; see `follower`.
last: the last index of the sender's log.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .entry import Entry
from .members import Members


@dataclass(frozen=True, slots=True)
class RaftMessage:
    """The fields that all messages have.

    source: the id of the member that sends the message.
    to: the id of the member that receives it.
    term: the term of the sender. In a pre-vote and in the grant of one, the term that the candidate would
        have.
    """

    source: str
    to: str
    term: int


@dataclass(frozen=True, slots=True)
class RequestVote(RaftMessage):
    """A candidate asks for a vote (thesis 3.4).

    pre: whether it only asks if it would get the vote (thesis 9.6).
    last, last_term: index and term of the last entry of its log.
    transfer: whether the leader itself wants the election (thesis 3.10).
    """

    pre: bool
    last: int
    last_term: int
    transfer: bool = False


@dataclass(frozen=True, slots=True)
class RequestVoteReply(RaftMessage):
    """The answer to a candidate.

    pre: whether it answers a pre-vote.
    granted: whether the vote is granted, or would be.
    """

    pre: bool
    granted: bool


@dataclass(frozen=True, slots=True)
class AppendEntries(RaftMessage):
    """A leader sends entries (thesis 3.5).

    prev, prev_term: index and term of the entry before the first one.
    entries: the entries after `prev`, without a gap. There may be none.
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
    """The follower's log is durable up to `index`, and the same as the leader's up to there."""

    index: int
    boot: int


@dataclass(frozen=True, slots=True)
class AppendEntriesRejected(RaftMessage):
    """The follower's log does not have the entry that precedes the leader's entries.

    prev: `prev` of the rejected message.
    hint, hint_term: the last index at which the logs may agree, and its term in the follower's log. A `hint`
        of -1 asks for the snapshot.
    """

    prev: int
    hint: int
    hint_term: int
    boot: int


@dataclass(frozen=True, slots=True)
class Heartbeat(RaftMessage):
    """A leader says that it still leads.

    commit: the leader's commit index, but at most the last index that the follower is known to have.
    answer: whether the leader wants a `HeartbeatReply`.
    """

    commit: int
    last: int
    echo: int
    answer: bool


@dataclass(frozen=True, slots=True)
class HeartbeatReply(RaftMessage):
    """The member follows the leader, or is in a later term than the leader that it answers."""

    boot: int


@dataclass(frozen=True, slots=True)
class InstallSnapshot(RaftMessage):
    """A leader sends a part of its snapshot (thesis 5.1).

    index, index_term, members: `index`, `term` and `members` of the `Snapshot`.
    offset: where in the snapshot's data this part begins, in bytes.
    size: the size of the whole data in bytes.
    data: the bytes of this part.
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
    """The data of the snapshot at `index` has arrived up to `offset` (bytes)."""

    index: int
    offset: int
    boot: int


@dataclass(frozen=True, slots=True)
class TimeoutNow(RaftMessage):
    """The receiver has everything that the leader has, and should start an election at once (thesis 3.10)."""
