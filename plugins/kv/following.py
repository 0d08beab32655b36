"""What `kv watch` and `object watch` share: changes shown as they come, also those of a bucket made again.

A bucket that is deleted is waited for; when there is one of that name again, all it holds is shown.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from ...cli import output, render
from ...cli.connection import NatsConnection
from ...cli.errors import CliError, RemoteError, UsageError, warn
from ...cli.jetstream import stream_is_gone
from ...cli.messages import StoredMessage
from ...cli.ordered_consumer import OrderedConsumer, StreamReplacedError
from ...cli.output import Table
from ...cli.output.choice import chosen

RETRY_WAIT = 1.0  # seconds between looks for a bucket that is gone

Show = Callable[[StoredMessage], None]
Open = Callable[[bool], Awaitable[tuple[OrderedConsumer, Show]]]


def one_by_one() -> None:
    """Choose a format in which changes can be printed one by one; raise UsageError if there is none."""
    choice = chosen()
    if choice.json or choice.format == "json":
        choice.json, choice.format = False, "ndjson"
    elif choice.format in ("csv", "yaml", "md"):
        raise UsageError(
            f"changes come one by one, and {choice.format} has no end", "-o ndjson prints a line for each"
        )


def show_change(table: Table, record: dict[str, Any], line: str) -> None:
    """Show a change: for people the line, else the record."""
    if output.is_for_people():
        render.show(line)
    else:
        output.show(table.of([record]))


async def follow(connection: NatsConnection, bucket: str, opened: Open) -> None:
    """Show the changes of a bucket until Ctrl-C, which is how it ends and no error.

    opened: opens the bucket and returns a reader of it, and what shows a message. It is told whether the
        bucket was deleted before, so that all of it is new. Its errors end the first run, not later ones.
    """
    with suppress(asyncio.CancelledError):
        await _follow(connection, bucket, opened)


async def _follow(connection: NatsConnection, bucket: str, opened: Open) -> None:
    reader, show = await opened(False)
    while True:
        try:
            async with reader:
                while True:
                    message = await reader.next()
                    if message is not None:
                        show(message)
        except StreamReplacedError:
            warn(f"the bucket {bucket} was deleted and made again")
        except RemoteError as error:
            if not stream_is_gone(error):
                raise
            warn(f"the bucket {bucket} was deleted; waiting for one of that name")
        reader, show = await _again(connection, opened)


async def _again(connection: NatsConnection, opened: Open) -> tuple[OrderedConsumer, Show]:
    """Wait until the bucket can be opened."""
    while True:
        try:
            return await opened(True)
        except CliError:
            if connection.nc.is_closed:
                raise
            await asyncio.sleep(RETRY_WAIT)
