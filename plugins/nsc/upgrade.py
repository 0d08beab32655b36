"""`nsc upgrade-jwt` and `nsc update`."""

from __future__ import annotations

from pathlib import Path

import click

from ...cli import prompt
from ...keys.workspace.upgrade import backup, needs_upgrade, upgrade
from .command import NscCommand, finish, open_workspace, switch
from .output import STDOUT, write


@click.command("upgrade-jwt", cls=NscCommand)
@click.option(
    "--backup", "zipped", default="", metavar="FILE", help="Write the store to this zip file first."
)
@switch("-F", "--force", text="Do not ask.")
async def upgrade_jwt(zipped: str, force: bool) -> None:
    """Turn a store of version 1 tokens into version 2.

    All servers must know version 2; each needs the operator's new token.
    """
    workspace = open_workspace()
    if needs_upgrade(workspace) and not workspace.store().managed:
        if (
            not force
            and not zipped
            and await prompt.confirm("write a backup of the store first", default=True)
        ):
            name = f"{workspace.store().name}-jwtV1-upgrade-backup.zip"
            if prompt.interactive():
                zipped = await prompt.text("zip file name", flag="--backup", default=name)
        if not await prompt.sure("did you upgrade all servers, and shall the tokens become V2", forced=force):
            click.echo("Declined to convert at this time. Rerun command when ready.")
            return
        if zipped:
            path = backup(workspace, Path(zipped))
            click.echo(f"Backup file {path} created. It does not contain keys.")
    finish(upgrade(workspace))


@click.command(cls=NscCommand)
@click.option("--version", default="latest", metavar="VERSION", help="Version that is wanted.")
def update(version: str) -> None:
    """Say how pyjs is updated: it does not update itself."""
    wanted = "--upgrade pyjs" if version == "latest" else f"pyjs=={version}"
    text = f"nothing was changed: pyjs does not update itself, pip does: pip install {wanted}"
    write(text, STDOUT, "advice")
