"""`nsc delete user`."""

from __future__ import annotations

import click

from ....cli import prompt
from ....keys.errors import WorkspaceError
from ....keys.workspace.users import UserRemoval, delete_users
from .. import completion, current_entities, prompts, questions
from ..command import NscCommand, finish, listed, open_workspace, run, switch


@click.command(cls=NscCommand)
@click.argument("argument", metavar="[NAME]", default="", shell_complete=completion.users)
@listed("-n", "--name", text="name of user(s) to delete - comma separated list or several times")
@prompts.ACCOUNT
@switch("-R", "--revoke", text="revoke user before deleting")
@switch("-D", "--rm-nkey", text="delete the user key")
@switch("-C", "--rm-creds", text="delete the user creds")
async def user(
    argument: str, name: tuple[str, ...], account: str, revoke: bool, rm_nkey: bool, rm_creds: bool
) -> None:
    """Delete users of an account."""
    workspace = open_workspace()
    names = (*name, *([argument] if argument else []))
    if run().interactive:
        account = await current_entities.account(workspace, account)
        names = await questions.users(workspace, account, names)
        several = "s" if len(names) > 1 else ""
        revoke = await prompts.yes(f"revoke user{several} before deleting", "--revoke", False)
        rm_nkey = await prompts.yes(f"delete associated nkey{several}", "--rm-nkey", False)
        rm_creds = await prompts.yes(f"delete associated creds file{several}", "--rm-creds", False)
        what = "users, nkeys" if several else "a user, nkey"
        if not await prompt.confirm(f"deleting {what} or creds file{several} cannot be undone - continue"):
            raise WorkspaceError("delete cancelled")
    removal = UserRemoval(revoke=revoke, keys=rm_nkey, credentials=rm_creds)
    finish(delete_users(workspace, names, removal, account=account))
