"""pyjs inside your own process, for tests, notebooks, scripts, and services that bring their own server.

`from pyjs.server import Server` is the asynchronous form: `async with Server(jetstream=True) as server`.
This package has the synchronous one, which runs on a thread: `with serve(jetstream=True) as server`. Both
listen on 127.0.0.1 and any free port by default, and leave no task, thread, socket or temporary file behind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .threaded import ThreadedServer, serve

__all__ = ["ThreadedServer", "serve"]


def __getattr__(name: str) -> Any:
    """Import the server at its first use: every run of pytest loads the plugin in this package."""
    if name in __all__:
        from . import threaded

        return getattr(threaded, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
