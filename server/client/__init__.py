"""Client connections: the core of the client protocol, and the asyncio shell around it."""

from .clients import Clients, make_services
from .connection import ClientConnection
from .listener import ClientListener

__all__ = ["ClientConnection", "ClientListener", "Clients", "make_services"]
