"""`pyjs auth account push` and `query`: an account's token to and from the servers of a connection."""

from __future__ import annotations

from pathlib import Path

import click

from ....cli import output, render
from ....cli.command import Command
from ....cli.connection import NatsConnection, connect
from ....cli.errors import CliError, NotFoundError, UnavailableError
from ....cli.output import FLAG, NAME, TEXT, Column, Table
from ....cli.proposal import in_hint
from ....keys import AccountClaims, KeyRole, decode, files, is_public
from ....keys.workspace.servers.answers import ServerResponses, printable
from ....keys.workspace.servers.connection import ServersConnection
from ....keys.workspace.servers.push import checked_token
from ....keys.workspace.servers.session import ServersSession
from .. import completion, folders
from . import page

UPDATES = Table(
    "auth_push",
    "Updates",
    (Column("server", "Server", NAME), Column("updated", "Updated", FLAG), Column("text", "Text", TEXT)),
    key="server",
)
_SYSTEM = "connect as a user of the system account, such as with --creds; 'pyjs nsc push' makes a user itself"


@click.command(cls=Command)
@output.listing(UPDATES)
@folders.ACCOUNT
@folders.OPERATOR
@click.option("--show", is_flag=True, help="Show the account's JWT first.")
async def push(account: str, operator: str, show: bool) -> None:
    """Send an account to all servers of the connection, which must be one of the system account."""
    here, name = await folders.in_account(operator, account)
    token, key = checked_token(here, name), here.store().account(name).sub
    if show and output.is_for_people():
        render.show(f"Account JWT for {name}\n\n{token}\n")
    async with connect() as connection:
        session = ServersSession(ServersConnection(connection.nc), connection.timeout)
        await session.start()
        responses = await session.ask(f"$SYS.REQ.ACCOUNT.{key}.CLAIMS.UPDATE", token.encode())
    _report(name, key, responses, len(session.servers) + responses.unheard)


def _report(name: str, key: str, responses: ServerResponses, expected: int) -> None:
    """Show what each server answered. Raises CliError unless all of them took the token."""
    found = [
        {
            "server": answer.server,
            "updated": not answer.error,
            "text": answer.error or answer.message,
        }
        for answer in responses.answers
    ]
    found += [{"server": silent, "updated": False, "text": "no answer"} for silent in responses.silent]
    good = sum(bool(each["updated"]) for each in found)
    lines = [
        f"✓ Update completed on {each['server']}"
        if each["updated"]
        else f"X Update failed on {each['server']}: {each['text']}"
        for each in found
    ]
    heading = f"Updating account {name} ({key}) on {expected} server(s)"
    summary = f"Success {good} Failed {len(found) - good} Expected {expected}"
    if found:
        output.show(UPDATES.of(found), text="\n".join([heading, "", *lines, "", summary]))
    if not good:
        why = f": {responses.error}" if responses.error else ""
        raise UnavailableError(f"no servers were updated{why}", _SYSTEM)
    if good < expected:
        raise CliError(f"update failed on {expected - good}/{expected} servers")


@click.command(cls=Command)
@output.showing("auth_account")
@click.argument("account", shell_complete=completion.accounts)
@click.argument("file", metavar="[OUTPUT]", required=False, default=None, type=click.Path(path_type=Path))
@folders.OPERATOR
async def query(account: str, file: Path | None, operator: str) -> None:
    """Show an account, by name or key, as the servers have it, and save its JWT in the file OUTPUT."""
    key = account
    if not is_public(account, KeyRole.ACCOUNT):
        here, name = await folders.in_account(operator, account)
        key = here.store().account(name).sub
    async with connect() as connection:
        token = await _lookup(connection, key)
    claims = decode(token, AccountClaims)
    if claims.sub != key:
        raise CliError(f"the servers sent the token of another account, {claims.sub}")
    if file is not None:
        files.write(file, token)
    text = page.page_of(claims, claims.name, [], None)
    output.show_page({"name": claims.name, "claims": claims.document()}, text, name=claims.name)


async def _lookup(connection: NatsConnection, key: str) -> str:
    """Return an account's token from the servers. Raises NotFoundError, UnavailableError."""
    from nats import errors

    subject = f"$SYS.REQ.ACCOUNT.{key}.CLAIMS.LOOKUP"
    try:
        answer = await connection.nc.request(subject, b"", connection.timeout)
    except (errors.TimeoutError, errors.NoRespondersError) as error:
        raise UnavailableError(
            f"no server answered for account {key}: {printable(str(error))}", _SYSTEM
        ) from None
    if not answer.data:
        raise NotFoundError(
            f"the servers have no account {key}", f"{in_hint('auth account push')} sends it to them"
        )
    return str(answer.data.decode("utf-8", "replace"))
