"""`nsc import account`."""

from __future__ import annotations

from pathlib import Path

import click

from ....keys.workspace.import_entities import import_account
from ..command import NscCommand, finish, open_workspace, switch


@click.command(cls=NscCommand)
@click.option("-j", "--file", required=True, metavar="FILE", help="The account's token, a .jwt file.")
@switch("--skip", text="In spite of issues; they can be edited out before a push.")
@switch("--overwrite", text="Overwrite the account if it exists.")
@switch("--force", text="Sign it again if another operator signed it.")
def account(file: str, skip: bool, overwrite: bool, force: bool) -> None:
    """Import an account; one that signed itself is signed by the operator."""
    finish(import_account(open_workspace(), Path(file), skip=skip, overwrite=overwrite, force=force))
