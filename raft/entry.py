"""What a member keeps on its disk: the entries of the log, the snapshot before them, and its hard state."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from .members import Members

OVERHEAD = 24  # bytes that an entry costs besides its data, on the wire and on the disk, roughly


class EntryType(IntEnum):
    """What an entry is for."""

    DATA = 0  # bytes of the application
    EMPTY = 1  # a new leader's first entry, so that it can commit earlier ones (thesis 3.6.2)
    MEMBERS = 2  # a new configuration, complete


class Entry(NamedTuple):
    """One entry of the replicated log. Its index is its position in the log and is not repeated here.

    term: the term of the leader that made it. Terms never fall from one index to the next.
    kind: an `EntryType`.
    data: the application's bytes, or an encoded `Members`.
    """

    term: int
    kind: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The application's state after one entry. It replaces the log up to that entry.

    index: the index of that entry, which is committed.
    term: the term of that entry.
    members: the configuration at that index. If it is empty, there is no state to build on yet.
    data: the state, in the application's own form.
    """

    index: int
    term: int
    members: Members
    data: bytes = b""


class HardState(NamedTuple):
    """What a member must remember about itself. It is durable before any message that depends on it is sent.

    term: the latest term that the member has seen. It never falls.
    vote: the candidate that it voted for in `term`, "" for nobody. A vote stays until the term rises.
    boot: how often this member has started. It tells an answer from before a loss from a later one.
    recovering: whether the log lost something that the member may have acknowledged. A recovering member
        neither votes nor campaigns until it has caught up with a leader; see `follower`.
    """

    term: int = 0
    vote: str = ""
    boot: int = 0
    recovering: bool = False
