"""`nsc export keys`: writes secrets, each to a file that only its owner can read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from ....keys import KeyRole
from ....keys.workspace import keyring
from ....keys.workspace.export_keys import export_keys
from ..command import NscCommand, finish, open_workspace, switch
from ..keys.key_filter import wanted


@click.command(cls=NscCommand)
@click.option("-d", "--dir", "folder", required=True, metavar="DIR", help="Directory to export to.")
@switch("-F", "--force", text="Overwrite files that exist.")
@switch("-R", "--remove", text="Remove the keys from the keystore.")
@switch("--include-jwts", "tokens", text="Export the tokens too; `nsc fix` rebuilds a store from both.")
@wanted
@switch("--curves", text="Curve keys.")
@click.option("--curve", default="", metavar="KEY", help="This curve key only.")
def keys(
    chosen: keyring.KeyFilter, curves: bool, curve: str, folder: str, force: bool, remove: bool, tokens: bool
) -> None:
    """Export seeds, each to a file named by its public key."""
    if not folder:
        raise click.UsageError("--dir names no directory")
    if curves or curve:
        chosen = keyring.with_role(chosen, KeyRole.CURVE)
    if curve:
        chosen = replace(chosen, part=curve)
    finish(export_keys(open_workspace(), chosen, Path(folder), force=force, remove=remove, tokens=tokens))
