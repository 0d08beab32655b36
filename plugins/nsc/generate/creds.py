"""`nsc generate creds`: a user's credentials.

They contain the user's seed, because that is what was asked for.
"""

from __future__ import annotations

import click

from ....keys import format_credentials
from ....keys.workspace.report import place
from .. import completion, current_entities
from ..command import NscCommand, open_workspace, run
from ..output import STDOUT, output_file, write


@click.command(cls=NscCommand)
@click.option(
    "-n", "--name", default="", help="User, by name or public key.", shell_complete=completion.users
)
@click.option("-a", "--account", default="", help="Account of the user.", shell_complete=completion.accounts)
@output_file("-o", "--output-file")
async def creds(name: str, account: str, where: str) -> None:
    """Generate the credentials of a user whose seed is stored."""
    workspace = open_workspace()
    owner = await current_entities.account(workspace, account)
    user = await current_entities.user(workspace, owner, name)
    store = workspace.store()
    key = workspace.keystore.get(store.user(owner, user).sub)
    write(format_credentials(store.user_token(owner, user), key.seed), where, "credentials")
    if where != STDOUT and not run().json:
        click.echo(f"Success!! - generated {place(where)}")
