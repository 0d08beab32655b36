"""`nsc init`."""

from __future__ import annotations

import os
from pathlib import Path

import click

from ...cli import prompt
from ...keys.errors import WorkspaceError
from ...keys.workspace.init import init_local, init_managed
from ...keys.workspace.naming import ANY, any_name
from ...keys.workspace.operators import known_operators
from .command import NscCommand, finish, open_workspace

_CREATE, _OTHER = "Create Operator", "Other"


@click.command(cls=NscCommand)
@click.argument("ignored", nargs=-1, metavar="")
@click.option("-d", "--dir", "root", default="", metavar="DIR", help="directory of the stores")
@click.option("-n", "--name", default="", metavar="NAME", help="name used for the operator, account and user")
@click.option("-u", "--url", default="", metavar="URL", help="operator account server url")
@click.option(
    "-o", "--remote-operator", "remote", default="", metavar="NAME", help="remote well-known operator"
)
async def init(ignored: tuple[str, ...], root: str, name: str, url: str, remote: str) -> None:
    """Make an operator, an account and a user; or an account and a user of another party's operator.

    Without any flag it asks.
    """
    workspace = open_workspace()
    known = known_operators(os.environ)
    asks = not (root or name or url or remote)
    name = any_name() if name in {"", ANY} else name
    if asks:
        root = await prompt.text(
            "enter a configuration directory", flag="--dir", default=str(workspace.stores.root)
        )
        choice = await prompt.choose(
            "Select an operator",
            [(label, label) for label in (*known, _CREATE, _OTHER)],
            flag="",
            default=_CREATE,
        )
        if choice == _OTHER:
            url = await prompt.text("Operator URL", flag="--url", required=True)
        elif choice != _CREATE:
            remote = choice
            prompt.note("--remote-operator", choice)
        words = "operator, account and user" if choice == _CREATE else "account and user"
        name = await prompt.text(f"name your {words}", flag="--name", default=name, required=True)
    place = _place(root) if root else workspace.stores.root
    if remote and not url:
        url = next((found for other, found in known.items() if other.lower() == remote.lower()), "")
        if not url:
            raise WorkspaceError(f"operator {remote!r} was not found: there are {', '.join(known)}")
    finish(init_managed(workspace, name, place, url, known) if url else init_local(workspace, name, place))


def _place(root: str) -> Path:
    return Path(root).expanduser().absolute()
