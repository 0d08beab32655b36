"""What a member keeps on its disk: entries of the log, the snapshot before them, and its hard state."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from .members import Members

OVERHEAD = 24  # bytes that an entry costs beside its data, on the wire and on the disk, near enough


class EntryType(IntEnum):
    """What an entry is for."""

    DATA = 0  # the application's
    EMPTY = 1  # a new leader's first, so that it can commit what came before (thesis 3.6.2)
    MEMBERS = 2  # a new configuration, whole


class Entry(NamedTuple):
    """One entry of the replicated log. Its index is its place in the log and is not repeated here.

    term: the term of the leader that made it. Terms never fall from one index to the next.
    kind: an `EntryType`.
    data: the application's bytes, or an encoded `Members`.
    """

    term: int
    kind: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The application's state after an entry, in place of the log up to there.

    index: that entry's index. It is committed.
    term: that entry's term.
    members: the configuration at that index; nobody in it: there is no state to build on yet.
    data: the state, in the application's own form.
    """

    index: int
    term: int
    members: Members
    data: bytes = b""


class HardState(NamedTuple):
    """What a member remembers of itself. Durable before any message that depends on it is sent.

    term: the latest term that it has seen. It never falls.
    vote: the candidate that it voted for in `term`, "" for nobody. Once given it stays until the term rises.
    boot: how often this member has started, so that an answer from before a loss is told from a later one.
    recovering: its log lost something that it may have acknowledged. It neither votes nor campaigns until it
        has caught up with a leader; see `follower`.
    """

    term: int = 0
    vote: str = ""
    boot: int = 0
    recovering: bool = False
