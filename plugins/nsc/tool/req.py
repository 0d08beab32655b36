"""`nsc tool req`: sends one request and shows its reply."""

from __future__ import annotations

from typing import Any

import click

from ....keys import WorkspaceError
from ....keys.workspace.servers.connection import plain
from ..command import NscCommand
from .user import ENCRYPT, connected, shown, user_flags

REPLY_SECONDS = 5  # seconds


@click.command(cls=NscCommand)
@click.argument("subject")
@click.argument("payload", default="")
@user_flags
@ENCRYPT
async def req(subject: str, payload: str, **given: Any) -> None:
    """Send a request to a subject as a user of an account, and show the reply."""
    from nats import errors

    async with connected(given, "nsc_req") as connection:
        click.echo(f"published request: [{subject}] : '{payload}'")
        try:
            answer = await connection.nc.request(subject, payload.encode(), timeout=REPLY_SECONDS)
        except (errors.TimeoutError, TimeoutError):
            raise WorkspaceError(connection.last_error() or "request timed out") from None
        except errors.Error as error:
            raise WorkspaceError(plain(error)) from None
        click.echo(f"received reply: [{answer.subject}] : '{shown(answer.data)}'")
