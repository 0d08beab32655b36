"""The roles of a member and the changes between them, as one table (thesis, figure 3.3, and pre-votes).

`RawNode` makes every change by this table; docs/raft.md shows it as a picture. A member begins as a follower.
A member that has failed (`RawNode.fail`) no longer changes its role.
"""

from __future__ import annotations

from enum import StrEnum


class RaftState(StrEnum):
    """The role of a member."""

    FOLLOWER = "follower"
    PRE_CANDIDATE = "pre-candidate"  # asks who would vote for it, in its old term (thesis 9.6)
    CANDIDATE = "candidate"
    LEADER = "leader"


class Event(StrEnum):
    """Why a member changes its role. The roles report the first six; `RawNode` sees the others itself."""

    ELECTION_TIMEOUT = "election timeout"
    TIMEOUT_NOW = "TimeoutNow from the leader"  # a transfer of the leadership (thesis 3.10)
    QUORUM_GRANTED = "votes of a quorum"
    CANNOT_WIN = "a quorum refuses, or it may not campaign any more"
    QUORUM_SILENT = "no answers of a quorum"  # a leader steps down by itself (thesis 6.2)
    REMOVED = "removed from the group"  # by a configuration that this leader committed (thesis 4.2.2)
    HIGHER_TERM = "higher term"
    CURRENT_LEADER = "message from the leader of the term"


_FOLLOWER, _PRE_CANDIDATE = RaftState.FOLLOWER, RaftState.PRE_CANDIDATE
_CANDIDATE, _LEADER = RaftState.CANDIDATE, RaftState.LEADER

TRANSITIONS: dict[tuple[RaftState, Event], RaftState] = {
    (_FOLLOWER, Event.ELECTION_TIMEOUT): _PRE_CANDIDATE,
    (_FOLLOWER, Event.TIMEOUT_NOW): _CANDIDATE,
    (_FOLLOWER, Event.HIGHER_TERM): _FOLLOWER,
    (_PRE_CANDIDATE, Event.QUORUM_GRANTED): _CANDIDATE,
    (_PRE_CANDIDATE, Event.ELECTION_TIMEOUT): _PRE_CANDIDATE,
    (_PRE_CANDIDATE, Event.CANNOT_WIN): _FOLLOWER,
    (_PRE_CANDIDATE, Event.CURRENT_LEADER): _FOLLOWER,
    (_PRE_CANDIDATE, Event.HIGHER_TERM): _FOLLOWER,
    (_CANDIDATE, Event.QUORUM_GRANTED): _LEADER,
    (_CANDIDATE, Event.ELECTION_TIMEOUT): _PRE_CANDIDATE,
    (_CANDIDATE, Event.CANNOT_WIN): _FOLLOWER,
    (_CANDIDATE, Event.CURRENT_LEADER): _FOLLOWER,
    (_CANDIDATE, Event.HIGHER_TERM): _FOLLOWER,
    (_LEADER, Event.QUORUM_SILENT): _FOLLOWER,
    (_LEADER, Event.REMOVED): _FOLLOWER,
    (_LEADER, Event.HIGHER_TERM): _FOLLOWER,
    # A second leader in one term means that Raft's guarantees are broken; the two must not both go on.
    (_LEADER, Event.CURRENT_LEADER): _FOLLOWER,
}
