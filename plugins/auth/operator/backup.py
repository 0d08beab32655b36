"""`pyjs auth operator backup`, `restore` and `import`."""

from __future__ import annotations

import base64
from pathlib import Path

import click

from ....cli import output, render
from ....cli.command import LocalCommand
from ....cli.errors import warn
from ....cli.output.formats import as_json
from ....keys import KeyRole, files, open_sealed, seal
from ....keys.workspace.operator_backup import (
    backup_operator,
    import_operator_with_keys,
    restore_operator,
)
from .. import completion, folders
from ..nkey import content_of, from_base64, pair_in
from ..page import LEGACY
from . import page

FILE = click.Path(path_type=Path)
UNENCRYPTED = """
WARNING: The output file is unencrypted and contains secrets,
consider encrypting it with 'pyjs auth nkey seal'"""


@click.command(cls=LocalCommand)
@click.argument("name", shell_complete=completion.operators)
@click.argument("output", type=FILE)
@click.option("--key", type=FILE, help="File with the seed of a curve key to encrypt the backup with.")
async def backup(name: str, output: Path, key: Path | None) -> None:
    """Save the operator NAME in the file OUTPUT, with its accounts, users and all their seeds."""
    here = await folders.in_operator(name)
    saved = backup_operator(here)
    content = as_json(saved.document).encode()
    if key is not None:
        pair = pair_in(key, KeyRole.CURVE)
        content = base64.b64encode(seal(content, pair, pair.public_key))
    files.write(output, content)
    for missing in saved.missing:
        warn(f"the seed of {missing} is not stored, so that it is not in the backup")
    render.show(f"Wrote backup for {saved.name} to {output}")
    if key is None:
        render.show(UNENCRYPTED)


@click.command(cls=LocalCommand)
@output.showing("auth_operator", legacy=LEGACY)
@click.argument("name")
@click.argument("input_", metavar="INPUT", type=FILE)
@click.option("--key", type=FILE, help="File with the seed of the curve key that encrypted the backup.")
def restore(name: str, input_: Path, key: Path | None) -> None:
    """Make the operator NAME from the backup in the file INPUT, and make it the current one."""
    content = content_of(input_)
    if key is not None:
        pair = pair_in(key, KeyRole.CURVE)
        content = open_sealed(from_base64(content, str(input_)), pair, pair.public_key)
    page.show(restore_operator(folders.opened(), name, content).workspace)


@click.command("import", cls=LocalCommand)
@output.showing("auth_operator", legacy=LEGACY)
@click.argument("token", metavar="JWT", type=FILE)
@click.argument("key", metavar="[KEY]...", type=FILE, nargs=-1)
def import_(token: Path, key: tuple[Path, ...]) -> None:
    """Take over an operator: JWT is the file of its token, each KEY one with the seed of a key of it.

    The seeds of its identity and of all its signing keys are needed.
    """
    text = files.read(token)
    pairs = [pair_in(path, KeyRole.OPERATOR) for path in key]
    page.show(import_operator_with_keys(folders.opened(), text, pairs).workspace)
