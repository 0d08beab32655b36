"""`nsc tool sub`: shows what is published on a subject."""

from __future__ import annotations

from typing import Any

import click

from ..command import NscCommand
from .listening import listening_flags, messages
from .user import ENCRYPT, connected, shown, user_flags


@click.command(cls=NscCommand)
@click.argument("subject")
@listening_flags
@user_flags
@ENCRYPT
async def sub(subject: str, queue: str, most: int, **given: Any) -> None:
    """Subscribe to a subject as a user of an account, until Ctrl-C or --max-messages."""
    async with connected(given, "nsc_sub") as connection:
        number = 0
        async for message in messages(connection, subject, queue, most, "Listening"):
            number += 1
            click.echo(f"[#{number}] received on [{message.subject}]: '{shown(message.data)}'")
