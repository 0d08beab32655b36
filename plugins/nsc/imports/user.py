"""`nsc import user`."""

from __future__ import annotations

from pathlib import Path

import click

from ....keys.workspace.import_entities import import_user
from ..command import NscCommand, finish, open_workspace, switch


@click.command(cls=NscCommand)
@click.option(
    "-f", "--file", required=True, metavar="FILE", help="The user's token or credentials: .jwt or .creds."
)
@switch("--skip", text="In spite of issues.")
@switch("--overwrite", text="Overwrite the user if it exists.")
def user(file: str, skip: bool, overwrite: bool) -> None:
    """Import a user of an account that is here; from credentials the key too."""
    finish(import_user(open_workspace(), Path(file), skip=skip, overwrite=overwrite))
