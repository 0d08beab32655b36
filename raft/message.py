"""The messages between members. Every message may be lost, doubled, delayed and overtaken.

`source` and `to` are members' ids. `term` is the sender's, but for a pre-vote, where it is the term the
candidate would have. `boot` counts the starts of the answering member, and `echo` is the one the leader last
knew: see `follower`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .entry import Entry
from .members import Members


@dataclass(frozen=True, slots=True)
class RaftMessage:
    """What all have in common."""

    source: str
    to: str
    term: int


@dataclass(frozen=True, slots=True)
class RequestVote(RaftMessage):
    """A candidate asks. pre: only whether it would get the vote. transfer: the leader itself wants it."""

    pre: bool
    last: int
    last_term: int
    transfer: bool = False


@dataclass(frozen=True, slots=True)
class RequestVoteReply(RaftMessage):
    """The answer. A granted pre-vote has the term that was asked for."""

    pre: bool
    granted: bool


@dataclass(frozen=True, slots=True)
class AppendEntries(RaftMessage):
    """Entries after `prev`; with none of them it only carries `commit`. last: the leader's last index."""

    prev: int
    prev_term: int
    entries: Sequence[Entry]
    commit: int
    last: int
    echo: int


@dataclass(frozen=True, slots=True)
class AppendEntriesAccepted(RaftMessage):
    """All up to `index` is durable here and the same as the leader's."""

    index: int
    boot: int


@dataclass(frozen=True, slots=True)
class AppendEntriesRejected(RaftMessage):
    """What precedes is not here. hint: the last index that may agree, with the term it has here; -1 asks for
    the snapshot.
    """

    prev: int
    hint: int
    hint_term: int
    boot: int


@dataclass(frozen=True, slots=True)
class Heartbeat(RaftMessage):
    """I lead. commit: no more than what the follower is known to have. answer: whether to reply."""

    commit: int
    last: int
    echo: int
    answer: bool


@dataclass(frozen=True, slots=True)
class HeartbeatReply(RaftMessage):
    """I follow."""

    boot: int


@dataclass(frozen=True, slots=True)
class InstallSnapshot(RaftMessage):
    """A piece of the state at `index`. size: of the whole."""

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
    """All of the snapshot of `index` before `offset` has arrived."""

    index: int
    offset: int
    boot: int


@dataclass(frozen=True, slots=True)
class TimeoutNow(RaftMessage):
    """You have all I have: ask for the votes at once (thesis 3.10)."""
