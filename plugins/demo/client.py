"""The connections of a demo that are not the command line's."""

from __future__ import annotations

from typing import Any

import nats
from nats.aio.client import Client


async def connected(urls: str | list[str], **options: Any) -> Client:
    """Return a client that does not connect again; a lost or refused connection is an error of its calls.

    Nothing is logged: a demo also tries what must be refused, and waits for servers.
    """

    async def ignore(_error: Exception) -> None:
        pass

    return await nats.connect(urls, allow_reconnect=False, error_cb=ignore, **options)
