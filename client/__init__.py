"""A blocking NATS client on one socket, made for bulk: it parses whole reads at once, into columns.

Only `block` and `chunks` need Arrow; this package does not import them, so that the command line can use the
rest without it.
"""

from .address import ConnectionOptions
from .connection import BlockingConnection
from .errors import (
    AuthorizationError,
    ClientError,
    ConnectionLost,
    NoResponders,
    NoServers,
    NotPermitted,
    TimedOut,
    TooLarge,
)
from .frames import Frames, Message

__all__ = [
    "AuthorizationError",
    "BlockingConnection",
    "ClientError",
    "ConnectionLost",
    "ConnectionOptions",
    "Frames",
    "Message",
    "NoResponders",
    "NoServers",
    "NotPermitted",
    "TimedOut",
    "TooLarge",
]
