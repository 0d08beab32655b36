"""The user and the server of `nsc tool`: flags, and the connection that they describe."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import click

from ....keys import WorkspaceError
from ....keys.workspace.servers.connection import ServersConnection, connect, plain
from ....keys.workspace.servers.identity import stored_speaker
from .. import completion, current_entities, prompts
from ..command import open_workspace, switch
from ..server_flags import tls, tls_flags

_FLUSH_SECONDS = 5  # seconds


SERVER = (
    tls_flags,
    click.option("--nats", "url", default="", metavar="URL", help="Server; else the operator's services."),
)


def user_flags(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flags that name account, user and server to a command."""
    for option in (
        *SERVER,
        click.option(
            "-u", "--user", default="", metavar="NAME", help="user name", shell_complete=completion.users
        ),
        prompts.ACCOUNT,
    ):
        function = option(function)
    return function


ENCRYPT = switch("-E", "--encrypt", hidden=True, text="Not supported any more.")


@contextlib.asynccontextmanager
async def connected(given: dict[str, Any], name: str) -> AsyncIterator[ServersConnection]:
    """Connect as the user that the flags name, or as the only one. Raises WorkspaceError."""
    if given.pop("encrypt", False):
        raise WorkspaceError("--encrypt was an experiment of nsc, which no longer supports it either")
    workspace = open_workspace()
    account = await current_entities.account(workspace, given.pop("account"))
    user = await current_entities.user(workspace, account, given.pop("user"))
    speaker = stored_speaker(workspace, account, user)
    url = given.pop("url") or ",".join(workspace.operator().nats.operator_service_urls)
    if not url:
        raise WorkspaceError(
            f'operator "{workspace.operator().name}" doesn\'t have operator_service_urls set: set one with '
            "`nsc edit operator --service-url <url>`, or name a server with --nats"
        )
    async with connect(url, speaker, name, tls(given)) as connection:
        yield connection


async def flushed(connection: ServersConnection) -> None:
    """Wait until the server has read everything. Raises WorkspaceError with the error that it reported.

    It takes two round trips, because the first PING of nats-py overtakes what waits to be written.
    """
    from nats import errors

    try:
        await connection.nc.flush(_FLUSH_SECONDS)
        await connection.nc.flush(_FLUSH_SECONDS)
    except (errors.Error, TimeoutError) as error:
        raise WorkspaceError(connection.last_error() or plain(error)) from None
    if connection.last_error():
        raise WorkspaceError(connection.last_error())


def shown(data: bytes) -> str:
    """Return a body as text."""
    return data.decode("utf-8", "replace")
