"""pyjs inside your own process: tests, notebooks, scripts, services that bring their server along.

`from pyjs.server import Server` is the asynchronous form: `async with Server(jetstream=True) as server`.
Here is the synchronous one, on a thread of its own: `with serve(jetstream=True) as server`. Both listen on
127.0.0.1 on a free port unless told otherwise, and leave no task, thread, socket or temporary file behind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .threaded import ThreadedServer, serve

__all__ = ["ThreadedServer", "serve"]


def __getattr__(name: str) -> Any:
    """Import the server when it is used: the pytest plugin beside it is loaded by every pytest run."""
    if name in __all__:
        from . import threaded

        return getattr(threaded, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
