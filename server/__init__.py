"""The server: connections, accounts, leaf nodes and JetStream. `from pyjs.server import Server`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .app import Server

__all__ = ["Server"]


def __getattr__(name: str) -> Any:
    """Import the server when it is asked for, not with every room that lies below it."""
    if name == "Server":
        from .app import Server

        return Server
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
