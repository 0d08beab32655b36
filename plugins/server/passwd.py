"""`pyjs server passwd`: the bcrypt hash of a password, for a server's configuration."""

from __future__ import annotations

import os
import secrets
import string

import click

from ...cli import prompt, render
from ...cli.command import Command
from ...cli.errors import UsageError

_SHORTEST, _LONGEST = 10, 72  # characters; bytes that bcrypt uses, it ignores the rest
_GENERATED = 22
_COSTS = (4, 31)


@click.command(cls=Command)
@click.option("-p", "--pass", "password", help="The password. [env: PASSWORD]")
@click.option("-c", "--cost", type=click.IntRange(*_COSTS), default=11, help="A guess costs 2 to that power.")
@click.option("-g", "--generate", is_flag=True, help="Make up a password.")
def passwd(password: str | None, cost: int, generate: bool) -> None:
    """Hash a password for a server's configuration."""
    import bcrypt

    given = password or os.environ.get("PASSWORD", "")
    if not given:
        given = _made_up() if generate else _asked()
    elif generate:
        raise UsageError("a password is given already", "leave out --generate, or the password")
    if len(given) < _SHORTEST:
        raise UsageError(f"password should be at least {_SHORTEST} characters long")
    if len(given.encode()) > _LONGEST:
        raise UsageError(f"password should be at most {_LONGEST} bytes long: bcrypt does not hear more")
    hashed = bcrypt.hashpw(given.encode(), bcrypt.gensalt(cost, b"2a")).decode()
    if generate:
        render.show(f"Generated password: {given}")
        render.show(f"       bcrypt hash: {hashed}")
    else:
        render.show(hashed)


def _made_up() -> str:
    return "".join(secrets.choice(string.ascii_letters + string.digits) for _ in range(_GENERATED))


def _asked() -> str:
    """Ask twice on a terminal, without showing the password."""
    if not prompt.interactive():
        raise prompt.needed("Enter password", "--pass")
    first = click.prompt("Enter password", hide_input=True)
    if click.prompt("Re-enter password", hide_input=True) != first:
        raise UsageError("entered and re-entered passwords do not match")
    return str(first)
