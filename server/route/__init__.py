"""Routes: the full mesh between the servers of a cluster, in nats-server's route protocol.

Every two servers share a pool of connections, of which each account uses one for its interest and messages.
Pinned accounts have connections of their own. A peer without a pool has one connection for everything.
"""

from .connection import RouteConnection
from .pools import RouteEvents
from .routes import Routes

__all__ = ["RouteConnection", "RouteEvents", "Routes"]
