"""Shell completion of names that are stored elsewhere: contexts, streams, consumers, buckets.

Promises: answers within BUDGET seconds or returns nothing; never prints, never raises. Servers are asked with
the settings of the line typed so far.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import click

from . import context as context_files

if TYPE_CHECKING:
    from .connection import NatsConnection

BUDGET = 0.8  # seconds, connecting included: longer feels like a hang


def contexts(_context: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Return the names of contexts that start so."""
    return context_files.names(incomplete)


def streams(context: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Return the names of streams that start so."""
    return _matching(context, incomplete, lambda connection: connection.js.stream_names())


def consumers(context: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Return the names of consumers that start so, of the stream already typed (the argument `stream`)."""
    stream = str(context.params.get("stream") or "")
    if not stream:
        return []
    return _matching(context, incomplete, lambda connection: connection.js.consumer_names(stream))


def key_value_buckets(context: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Return the names of key-value buckets that start so."""
    return _buckets(context, incomplete, "KV_")


def object_buckets(context: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Return the names of object buckets that start so."""
    return _buckets(context, incomplete, "OBJ_")


def _buckets(context: click.Context, incomplete: str, prefix: str) -> list[str]:
    async def names(connection: NatsConnection) -> list[str]:
        streams = await connection.js.stream_names()
        return [name.removeprefix(prefix) for name in streams if name.startswith(prefix)]

    return _matching(context, incomplete, names)


def _matching(
    context: click.Context, incomplete: str, ask: Callable[[NatsConnection], Awaitable[list[str]]]
) -> list[str]:
    import asyncio

    async def names() -> list[str]:
        from .connection import connect
        from .flags import CliSession
        from .profile import resolve

        run = context.find_root().obj
        profile = resolve(run if isinstance(run, CliSession) else CliSession())
        async with asyncio.timeout(BUDGET), connect(profile, quiet=True) as connection:
            return await ask(connection)

    try:
        return [name for name in asyncio.run(names()) if name.startswith(incomplete)]
    except Exception:  # completion cannot report an error, so there are no names
        return []
