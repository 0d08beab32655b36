"""`nsc import keys`."""

from __future__ import annotations

from pathlib import Path

import click

from ....keys.workspace.import_entities import import_keys
from ..command import NscCommand, finish, open_workspace, switch


@click.command(cls=NscCommand)
@click.option("-d", "--dir", "folder", required=True, metavar="DIR", help="Directory of .nk files.")
@switch("-R", "--recurse", text="And of the directories below.")
def keys(folder: str, recurse: bool) -> None:
    """Import every seed in the .nk files of a directory into the keystore."""
    if not folder:
        raise click.UsageError("--dir names no directory")
    finish(import_keys(open_workspace(), Path(folder), recurse=recurse))
