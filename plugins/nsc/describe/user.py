"""`nsc describe user`."""

from __future__ import annotations

import click

from .. import completion, current_entities
from ..command import NscLocalCommand, open_workspace
from ..pages import user as pages
from .token_output import TokenOutput, shown


@click.command(cls=NscLocalCommand)
@click.argument("given", metavar="[NAME]", required=False, default="", shell_complete=completion.users)
@click.option(
    "-n", "--name", default="", help="Name or public key of the user.", shell_complete=completion.users
)
@click.option("-a", "--account", default="", help="Account of the user.", shell_complete=completion.accounts)
@shown
async def user(given: str, name: str, account: str, how: TokenOutput) -> None:
    """Describe a user, by name or public key, with the scoped signing key that issued it."""
    workspace = open_workspace()
    owner = await current_entities.account(workspace, account)
    store = workspace.store()
    found = await current_entities.user(workspace, owner, name or given)
    claims = store.user(owner, found)
    scope = store.account(owner).scope(claims.iss)
    how.show(store.user_token(owner, found), lambda: pages.page(claims, scope))
