"""`nsc tool pub`: publishes one message."""

from __future__ import annotations

from typing import Any

import click

from ....keys.claims.issues import quote
from ..command import NscCommand
from .user import connected, flushed, user_flags


@click.command(cls=NscCommand)
@click.argument("subject")
@click.argument("payload", default="")
@user_flags
async def pub(subject: str, payload: str, **given: Any) -> None:
    """Publish to a subject as a user of an account."""
    async with connected(given, "nsc_pub") as connection:
        await connection.nc.publish(subject, payload.encode())
        await flushed(connection)
        click.echo(f"Published [{subject}] : {quote(payload)}")
