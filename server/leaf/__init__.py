"""Leaf nodes: both ends of nats-server's leaf protocol.

`Leafs` is the part that the server starts: a listener for leafs, and the remotes that this server joins. A
`LeafConnection` is what the router sees of either: a source and a sink of kind LEAF. What passes over a
connection is decided by its `LeafPermissions`, what it announces by its `InterestAdvertiser`.
"""

from __future__ import annotations

from .connection import LeafConnection
from .leafs import LeafEvents, Leafs

__all__ = ["LeafConnection", "LeafEvents", "Leafs"]
