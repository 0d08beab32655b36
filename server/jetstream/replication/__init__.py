"""Replicated streams: the core of a stream, driven by the log of a Raft group."""

from .leader_proposals import ReplicaLog
from .replica import Replica, ReplicaError, ReplicaOwner

__all__ = ["Replica", "ReplicaError", "ReplicaLog", "ReplicaOwner"]
