"""`pyjs auth user rm`."""

from __future__ import annotations

import click

from ....cli import prompt, render
from ....cli.command import FORCE, LocalCommand
from ....keys.workspace.users import UserRemoval, delete_users
from .. import folders
from ..outcome import checked


@click.command("rm", cls=LocalCommand)
@folders.USER
@folders.ACCOUNT
@folders.OPERATOR
@click.option(
    "--revoke", is_flag=True, help="Revoke the user, too: servers refuse it once the account is pushed."
)
@FORCE
async def remove(name: str, account: str, operator: str, revoke: bool, force: bool) -> None:
    """Remove a user, its seed and its credentials. Copies of these let it log in until it is revoked."""
    here, owner, name = await folders.in_user(operator, account, name)
    if await prompt.sure(f"Really remove the User {name}", forced=force):
        removal = UserRemoval(revoke=revoke, keys=True, credentials=True)
        checked(delete_users(here, (name,), removal, account=owner))
        render.show(f"Removed user {name}")
