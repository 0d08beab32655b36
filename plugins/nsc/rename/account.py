"""`nsc rename account`."""

from __future__ import annotations

import click

from ....cli.errors import CliError
from ....keys.workspace.rename import rename_account
from ....keys.workspace.report import short
from .. import completion
from ..command import NscCommand, finish, open_workspace, switch


@click.command(cls=NscCommand)
@click.argument("old", metavar="NAME", shell_complete=completion.accounts)
@click.argument("new", metavar="NEW-NAME")
@switch("--OK", "backed_up", text="The directories are backed up: do it.")
def account(old: str, new: str, backed_up: bool) -> None:
    """Rename an account: its token is signed again, its users and credentials move along."""
    workspace = open_workspace()
    if not backed_up:
        folders = f"{short(workspace.stores.root)} and {short(workspace.keystore.root)}"
        raise CliError(
            'required flag "OK" not set',
            "this changes files and keys: tokens are signed again, users and credentials move",
            f"back up {folders} first, then give --OK",
        )
    finish(rename_account(workspace, old, new))
