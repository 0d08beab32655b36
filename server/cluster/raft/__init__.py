"""Raft as a core without I/O, in the manner of etcd's.

One `Node` is one member of one group. It is given messages, ticks and proposals, and hands out what is to be
sent, written and applied; clock, network, disk and dice are arguments. Terms and rules are those of Ongaro's
thesis (2014); where a rule is not in it, the module that has it says why it is safe.
"""

from .entry import Entry, Kind
from .log import Log, Snapshot
from .members import Members, MembersError
from .message import (
    Append,
    Appended,
    AskVote,
    CampaignNow,
    Heartbeat,
    HeartbeatReply,
    Message,
    PartTaken,
    Refused,
    SnapshotPart,
    Vote,
)
from .node import Node, NotLeaderError, Role, Timing
from .state import HardState
from .write import Write

__all__ = [
    "Append",
    "Appended",
    "AskVote",
    "CampaignNow",
    "Entry",
    "HardState",
    "Heartbeat",
    "HeartbeatReply",
    "Kind",
    "Log",
    "Members",
    "MembersError",
    "Message",
    "Node",
    "NotLeaderError",
    "PartTaken",
    "Refused",
    "Role",
    "Snapshot",
    "SnapshotPart",
    "Timing",
    "Vote",
    "Write",
]
