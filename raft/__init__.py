"""Raft as a core without I/O, in the manner of etcd's.

One `RawNode` is one member of one group. It takes messages, ticks and proposals, and hands out what the
caller must send, write and apply. Clock, network, disk and random numbers are arguments. Terms and rules are
those of Ongaro's thesis (2014). Where a rule is not in the thesis, the module that has it says why it is
safe.
"""

from .entry import Entry, EntryType, HardState, Snapshot
from .log import BrokenLogError, RaftLog
from .members import Members, MembersError
from .message import (
    AppendEntries,
    AppendEntriesAccepted,
    AppendEntriesRejected,
    Heartbeat,
    HeartbeatReply,
    InstallSnapshot,
    InstallSnapshotReply,
    RaftMessage,
    RequestVote,
    RequestVoteReply,
    TimeoutNow,
)
from .node import CommittedEntries, NotLeaderError, RawNode, StorageAppend
from .raft import RaftConfig

__all__ = [
    "AppendEntries",
    "AppendEntriesAccepted",
    "AppendEntriesRejected",
    "BrokenLogError",
    "CommittedEntries",
    "Entry",
    "EntryType",
    "HardState",
    "Heartbeat",
    "HeartbeatReply",
    "InstallSnapshot",
    "InstallSnapshotReply",
    "Members",
    "MembersError",
    "NotLeaderError",
    "RaftConfig",
    "RaftLog",
    "RaftMessage",
    "RawNode",
    "RequestVote",
    "RequestVoteReply",
    "Snapshot",
    "StorageAppend",
    "TimeoutNow",
]
