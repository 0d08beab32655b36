"""`nsc tool reply`: answers the requests on a subject."""

from __future__ import annotations

from typing import Any

import click

from ..command import NscCommand
from .listening import listening_flags, messages
from .user import connected, flushed, shown, user_flags


@click.command(cls=NscCommand)
@click.argument("subject")
@click.argument("answer", required=False)
@listening_flags
@user_flags
async def reply(subject: str, answer: str | None, queue: str, most: int, **given: Any) -> None:
    """Answer requests on a subject as a user of an account: with a text, or with what they say."""
    async with connected(given, "nsc_reply") as connection:
        number = 0
        async for message in messages(connection, subject, queue, most, "listening"):
            number += 1
            if not message.reply:
                click.echo(f"[#{number}] ignoring request on [{message.subject}]: no reply subject")
                continue
            click.echo(f"[#{number}] received on [{message.subject}]: '{shown(message.data)}'")
            await connection.nc.publish(message.reply, message.data if answer is None else answer.encode())
            await flushed(connection)
