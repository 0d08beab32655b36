"""The account and the user that a command works on: named, asked for with `-i`, or the only ones."""

from __future__ import annotations

from ...cli import prompt
from ...keys import Workspace
from . import prompts
from .command import run


async def account(workspace: Workspace, given: str) -> str:
    """Return an account's name in the store, from a name or key. Raises WorkspaceError, NotFoundError."""
    return workspace.account_name(await prompts.account(workspace, given))


async def user(workspace: Workspace, owner: str, given: str) -> str:
    """Return the name of a user of the account `owner`, from a name or key.

    Raises WorkspaceError if none is named and there is not exactly one, NotFoundError.
    """
    names = workspace.store().users(owner)
    if not given and run().interactive and len(names) > 1:
        given = await prompt.choose(
            "select user", [(name, name) for name in names], flag="--name", default=names[0]
        )
    return workspace.user_name(owner, given)
