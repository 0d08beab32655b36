"""What `nsc tool sub` and `nsc tool reply` share: listening until enough has come, or until the run ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import click

from ....keys import WorkspaceError
from ....keys.workspace.servers.connection import ServersConnection
from .user import flushed


def listening_flags(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flags of the commands that listen to a command."""
    for option in (
        click.option(
            "--max-messages", "most", type=int, default=-1, metavar="COUNT", help="End after these."
        ),
        click.option("-q", "--queue", default="", metavar="NAME", help="Queue group to share the messages."),
    ):
        function = option(function)
    return function


async def messages(
    connection: ServersConnection, subject: str, queue: str, most: int, word: str
) -> AsyncIterator[Any]:
    """Report (with `word`) that it listens, and yield the messages: `most` of them, or all until Ctrl-C.

    Raises WorkspaceError if the server does not allow it to listen.
    """
    if most == 0:
        raise WorkspaceError("max-messages must be greater than zero")
    arriving = await connection.nc.subscribe(subject, queue, pending_msgs_limit=-1, pending_bytes_limit=-1)
    click.echo(f"{word} on [{subject}]" + (f" for {most} messages" if most > 0 else ""))
    await flushed(connection)
    count = 0
    while most < 0 or count < most:
        try:
            message = await arriving.next_msg(None)
        except asyncio.CancelledError:  # Ctrl-C is the way to end it
            return
        count += 1
        yield message
