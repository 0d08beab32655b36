"""The server: connections, accounts, leaf nodes and JetStream. `from pyjs.server import Server`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .app import Server

__all__ = ["Server"]


def __getattr__(name: str) -> Any:
    """Import the server at its first use: importing this package must not import everything below it."""
    if name == "Server":
        from .app import Server

        return Server
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
