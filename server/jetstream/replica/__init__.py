"""Replicated streams: the core of a stream, driven by the log of a Raft group."""

from .replica import Log, Owner, Replica, ReplicaError

__all__ = ["Log", "Owner", "Replica", "ReplicaError"]
