"""`nsc describe account`."""

from __future__ import annotations

import click

from .. import completion, current_entities, pages
from ..command import NscLocalCommand, open_workspace
from .token_output import TokenOutput, shown


@click.command(cls=NscLocalCommand)
@click.argument("given", metavar="[NAME]", required=False, default="", shell_complete=completion.accounts)
@click.option(
    "-n", "--name", default="", help="Name or public key of the account.", shell_complete=completion.accounts
)
@shown
async def account(given: str, name: str, how: TokenOutput) -> None:
    """Describe an account, by name or public key; without one, the current account."""
    workspace = open_workspace()
    found, store = await current_entities.account(workspace, name or given), workspace.store()
    claims = store.account(found)
    how.show(store.account_token(found), lambda: pages.page(claims, how.names(workspace)))
