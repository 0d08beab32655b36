"""The parts that every connection of a server is made of, whatever its protocol is.

A kind of connection (client, leaf, route) consists of a `Connection` that defines what its operations mean, a
`SocketProtocol` that decides when TLS begins, and a `Listener`. Between the first two lies a
`ConnectionTransport`: a transport of asyncio, or TLS on top of one.
"""

from __future__ import annotations

from .connection import Connection
from .context import ConnectionContext, ConnectionServices
from .listener import Listener
from .socket_protocol import SocketProtocol
from .wire import ConnectionTransport

__all__ = [
    "Connection",
    "ConnectionContext",
    "ConnectionServices",
    "ConnectionTransport",
    "Listener",
    "SocketProtocol",
]
