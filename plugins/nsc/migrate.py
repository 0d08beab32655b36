"""`nsc migrate`: brings accounts of another operator under the current one."""

from __future__ import annotations

from pathlib import Path

import click

from ...cli import prompt
from ...keys.workspace.migrate import migrate_account, migrate_operator
from .command import NscCommand, finish, open_workspace, run, switch


@click.command(cls=NscCommand)
@click.option("-u", "--url", default="", metavar="FILE|URL", help="The account's token.")
@click.option(
    "--operator-dir", "folder", default="", metavar="DIR", help="Store of an operator: all accounts."
)
@switch("-F", "--force", text="Overwrite accounts of the same name.")
async def migrate(url: str, folder: str, force: bool) -> None:
    """Bring an account, or all accounts of an operator's store, under the current operator."""
    if run().interactive and not (url or folder):
        if await prompt.confirm("migrate all accounts under a particular operator", default=True):
            folder = await prompt.text(
                "specify the directory for the operator", flag="--operator-dir", required=True
            )
        else:
            url = await prompt.text("account jwt url/or path", flag="--url", required=True)
    if bool(url) == bool(folder):
        raise click.UsageError("specify one of --url or --operator-dir")
    workspace = open_workspace()
    finish(
        migrate_operator(workspace, Path(folder), force=force)
        if folder
        else migrate_account(workspace, url, force=force)
    )
