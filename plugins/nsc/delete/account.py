"""`nsc delete account`."""

from __future__ import annotations

import click

from ....cli import prompt
from ....keys.errors import WorkspaceError
from ....keys.workspace.accounts import delete_account
from .. import completion, prompts
from ..command import NscCommand, finish, open_workspace, run, switch


@click.command(cls=NscCommand)
@click.argument("argument", metavar="[NAME]", default="", shell_complete=completion.accounts)
@click.option("-n", "--name", default="", metavar="NAME", help="name of account to delete")
@switch("-R", "--revoke", default=True, text="revoke users before deleting (default)")
@switch("-D", "--rm-nkey", text="delete the keys of the account and its users")
@switch("-C", "--rm-creds", text="delete users creds")
@switch("-F", "--force", text="managed accounts must supply --force")
async def account(argument: str, name: str, revoke: bool, rm_nkey: bool, rm_creds: bool, force: bool) -> None:
    """Delete an account and its users."""
    workspace = open_workspace()
    name = name or argument
    if run().interactive:
        name = await prompts.account(workspace, name)
        revoke = await prompts.yes("revoke all account users before deleting", "--revoke", True)
        rm_nkey = await prompts.yes("delete associated account and user nkeys", "--rm-nkey", False)
        rm_creds = await prompts.yes("delete associated user creds files", "--rm-creds", False)
        if workspace.store().managed:
            force = await prompt.confirm(
                "managed accounts may require the account JWT or nkeys to cancel a service - continue",
                flag="--force",
            )
        if not await prompt.confirm(
            "deleting accounts, users, nkeys or creds files cannot be undone - continue"
        ):
            raise WorkspaceError("delete cancelled")
    finish(delete_account(workspace, name, revoke=revoke, keys=rm_nkey, credentials=rm_creds, force=force))
