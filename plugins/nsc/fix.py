"""`nsc fix`: rebuilds stores and keystore from loose files."""

from __future__ import annotations

import time
from pathlib import Path

import click

from ...keys.workspace.fix import fix as fixed
from .command import NscCommand, finish, listed, run, switch


@click.command(cls=NscCommand)
@listed("--in", "folders", text="Directories to search.", required=True)
@click.option("--out", default="", metavar="DIR", help="New directory to write to.")
@switch("--creds", text="Take tokens and seeds from credentials files too.")
def fix(folders: tuple[str, ...], out: str, creds: bool) -> None:
    """Rebuild stores and keystore from the tokens and seeds in directories."""
    if not all(folders):
        raise click.UsageError("--in names no directory")
    target = Path(out or f"fix_{time.time_ns()}")
    result = fixed([Path(folder) for folder in folders], target, credentials=creds)
    finish(result)
    if run().json:
        return
    for word, count in (
        ("operators", result.operators),
        ("accounts", result.accounts),
        ("users", result.users),
        ("nkeys", result.nkeys),
    ):
        click.echo(f"stored {count} {word}")
    click.echo(
        f"\npyjs nsc list operators --data-dir {result.folder / 'operators'} "
        f"--keystore-dir {result.folder / 'keys'}"
    )
