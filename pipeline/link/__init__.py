"""A blocking NATS client on one socket, made for bulk: whole reads are parsed at once, into columns."""

from .address import Address
from .block import Block
from .errors import (
    AuthorizationError,
    LinkError,
    LinkLost,
    NoResponders,
    NoServers,
    NotPermitted,
    TimedOut,
    TooLarge,
)
from .frames import Frames, Message
from .link import Link
from .pieces import pieces

__all__ = [
    "Address",
    "AuthorizationError",
    "Block",
    "Frames",
    "Link",
    "LinkError",
    "LinkLost",
    "Message",
    "NoResponders",
    "NoServers",
    "NotPermitted",
    "TimedOut",
    "TooLarge",
    "pieces",
]
