"""`pyjs auth user credential`, and the file of credentials that `add` and `edit` write."""

from __future__ import annotations

from pathlib import Path

import click

from ....cli import render
from ....cli.command import LocalCommand
from ....cli.errors import RefusedError
from ....cli.param import DURATION
from ....keys import Workspace, files
from ....keys.claims.base import SECOND
from ....keys.workspace.users import user_credentials
from .. import folders

CREDENTIAL = click.option(
    "--credential", type=click.Path(path_type=Path), metavar="FILE", help="Write credentials to this file."
)


@click.command(cls=LocalCommand)
@click.argument("file", type=click.Path(path_type=Path))
@folders.USER
@folders.ACCOUNT
@click.option("--expire", type=DURATION, default=0, metavar="DURATION", help="How long they are valid.")
@folders.OPERATOR
@click.option("-f", "--force", is_flag=True, help="Overwrite FILE.")
async def credential(file: Path, name: str, account: str, expire: int, operator: str, force: bool) -> None:
    """Write the credentials of a user, which contain its seed, to FILE, readable by its owner only."""
    must_not_exist(file, force=force)
    here, owner, name = await folders.in_user(operator, account, name)
    write(here, owner, name, file, expire=expire)
    render.show(f"Wrote credential for {name} to {file}")


def must_not_exist(file: Path | None, *, force: bool) -> None:
    """Raise RefusedError if the file exists, unless `force` is set."""
    if file is not None and not force and file.exists():
        raise RefusedError(f"file {file} already exists", "--force overwrites it")


def write(here: Workspace, account: str, name: str, file: Path, *, expire: int = 0) -> None:
    """Write a user's credentials to a file.

    expire: ns from now until they end, 0 for the end of the user's token.
    """
    expiry = (here.now() + expire) // SECOND if expire > 0 else 0
    files.write(file, user_credentials(here, account, name, expiry=expiry))
