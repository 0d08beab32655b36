"""`nsc edit signing-key`."""

from __future__ import annotations

import click

from ....keys import WorkspaceError
from ....keys.workspace.permissions import UserEdits
from ....keys.workspace.scopes import edit_signing_key
from .. import prompts
from ..command import NscCommand, finish, listed, open_workspace
from ..permissions import user_options


@click.command("signing-key", cls=NscCommand)
@click.argument("named", metavar="[SIGNING-KEY or ROLE]", default="")
@listed("--sk", "keys", text='signing key, its role, its path, or "generate" for a new one')
@click.option("--role", default=None, help="role associated with the signing key scope")
@click.option("--description", default=None, help="description of the role")
@prompts.ACCOUNT
@user_options()
def signing_key(
    named: str,
    keys: tuple[str, ...],
    role: str | None,
    description: str | None,
    account: str,
    edits: UserEdits,
) -> None:
    """Edit a scoped signing key, make a signing key scoped, or generate one."""
    if len(keys) > 1 or (keys and named):
        raise WorkspaceError("one signing key can be edited at a time")
    key = named or next(iter(keys), "")
    done = edit_signing_key(
        open_workspace(), key, role=role, description=description, edits=edits, account=account
    )
    finish(done)
