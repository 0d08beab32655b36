"""`nsc revocations add-user|delete-user|list-users`."""

from __future__ import annotations

import click

from ....cli import prompt
from ....keys import Workspace, WorkspaceError
from ....keys.workspace.revocations import revoke_user, revoked_users, unrevoke_user
from .. import completion, prompts, questions
from ..command import NscCommand, finish, open_workspace, run
from . import listing

_ANYONE = "*"
_NAME = click.option("-n", "--name", default="", help="user name", shell_complete=completion.users)
_KEY = click.option(
    "-u", "--user-public-key", "key", default="", help="user's public key or name, '*' for all"
)


@click.command("add-user", cls=NscCommand)
@_NAME
@listing.AT
@_KEY
@prompts.ACCOUNT
async def add(account: str, name: str, key: str, at: str) -> None:
    """Revoke a user, or with '*' all users."""
    workspace, user = open_workspace(), _one(name, key)
    if run().interactive:
        account = await prompts.account(workspace, account)
        user = user or await _picked(workspace, account)
        at = await listing.asked(workspace, at)
        workspace = await questions.account_signer(workspace, workspace.account(account))
    finish(revoke_user(workspace, user, at=listing.moment(workspace, at), account=account))


@click.command("delete-user", cls=NscCommand)
@_NAME
@_KEY
@prompts.ACCOUNT
async def delete(account: str, name: str, key: str) -> None:
    """Remove a user revocation."""
    workspace, user = open_workspace(), _one(name, key)
    if run().interactive and not user:
        account = await prompts.account(workspace, account)
        user = await _picked_revoked(workspace, account)
        workspace = await questions.account_signer(workspace, workspace.account(account))
    finish(unrevoke_user(workspace, user, account=account))


@click.command("list-users", cls=NscCommand)
@prompts.ACCOUNT
async def show(account: str) -> None:
    """List users revoked in an account."""
    workspace = open_workspace()
    if run().interactive:
        account = await prompts.account(workspace, account)
    name, found = revoked_users(workspace, account=account)
    if not found and not run().json:
        raise WorkspaceError(f"account {name} does not have revoked users")
    listing.show(f"Revoked Users for {name}", "All Users", found)


def _one(name: str, key: str) -> str:
    if name and key:
        raise WorkspaceError("user and user-public-key are mutually exclusive")
    return name or key


async def _picked(workspace: Workspace, account: str) -> str:
    here = workspace.account_name(account)
    names = workspace.store().users(here)
    if names and await prompt.confirm("Revoke a user by name", default=True):
        choices = [(name, name) for name in names]
        return await prompt.choose("Select user to revoke", choices, flag="--name", default=names[0])
    return await prompt.text(
        "user-public-key public key or '*' to match any user", flag="--user-public-key", required=True
    )


async def _picked_revoked(workspace: Workspace, account: str) -> str:
    here, found = revoked_users(workspace, account=account)
    if not found:
        raise WorkspaceError(f"no user revocations set in account {here}")
    store = workspace.store()
    names = {store.user(here, user).sub: user for user in store.users(here)} | {_ANYONE: "All Users"}
    choices = [(f"{entry.key}: {names.get(entry.key, '[Unknown User]')}", entry.key) for entry in found]
    return await prompt.choose(
        "select revoked user to clear", choices, flag="--user-public-key", default=found[0].key
    )
