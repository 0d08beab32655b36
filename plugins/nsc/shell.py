"""`nsc completion`: the script with which a shell completes pyjs, and with it `pyjs nsc`."""

from __future__ import annotations

import click

from ..completion import SHELLS, script
from .command import NscCommand
from .output import STDOUT, write


@click.command(cls=NscCommand, epilog="\b\nTo use it:\n" + "\n".join(SHELLS.values()))
@click.argument("shell", type=click.Choice(tuple(SHELLS)))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the completion script of a shell."""
    write(script(context, shell), STDOUT, "completion script")
