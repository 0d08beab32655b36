"""Routes: the full mesh between the servers of a cluster, in nats-server's route protocol.

Every two servers share one connection, which carries the interest and the messages of all accounts. Pools of
connections, connections of single accounts and compression are not offered; a peer that asks for them does
without.
"""

from .connection import RouteConnection
from .routes import RouteEvents, Routes

__all__ = ["RouteConnection", "RouteEvents", "Routes"]
