"""Dial a server: make a connection within some time, or raise an error.

Promises that no connection ends without its protocol being called. (If a dial is cancelled, uvloop closes its
connection silently even when the connection already has its protocol: a stalled loop sees the connection and
the timeout in the same round.)
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .socket_protocol import SocketProtocol


async def dial(make: Callable[[], SocketProtocol], host: str, port: int, seconds: float) -> None:
    """Connect the protocol that `make` returns. Raises OSError, or TimeoutError after `seconds`."""
    made: list[SocketProtocol] = []

    def note() -> SocketProtocol:
        made.append(make())
        return made[-1]

    def stands() -> bool:
        return any(protocol.taken for protocol in made)

    attempt = asyncio.ensure_future(asyncio.get_running_loop().create_connection(note, host, port))
    try:
        await asyncio.wait({attempt}, timeout=seconds)
        if not attempt.done() and not stands():
            raise TimeoutError
        await asyncio.shield(attempt)
    finally:
        if not attempt.done() and not stands():
            attempt.cancel()
            await asyncio.gather(attempt, return_exceptions=True)
