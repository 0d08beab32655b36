"""Leaf nodes: both ends of nats-server's leaf protocol.

`Leafs` is the part that the server starts: a listener for leafs, and the remotes that this server joins. The
router sees either end as a `LeafConnection`, a source and a sink of kind LEAF. Its `LeafPermissions` decide
what passes over the connection, and its `InterestAdvertiser` what it announces.
"""

from __future__ import annotations

from .connection import LeafConnection
from .leafs import Leafs
from .peer import LeafEvents

__all__ = ["LeafConnection", "LeafEvents", "Leafs"]
