"""Replicated streams: the core of a stream, driven by the log of a Raft group."""

from .replica import Replica, ReplicaError, ReplicaLog, ReplicaOwner

__all__ = ["Replica", "ReplicaError", "ReplicaLog", "ReplicaOwner"]
