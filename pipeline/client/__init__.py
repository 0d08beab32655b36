"""A blocking NATS client on one socket, made for bulk: it parses whole reads at once, into columns."""

from .address import ConnectionOptions
from .block import ArrowMessages
from .chunks import pieces
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
    "ArrowMessages",
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
    "pieces",
]
