"""`nsc completion`: the script with which a shell completes pyjs, and with it `pyjs nsc`."""

from __future__ import annotations

import click

from ..completion import SHELLS, script
from .command import NscCommand, NscGroup, switch
from .output import STDOUT, write


def _command(shell: str) -> click.Command:
    @click.command(shell, cls=NscCommand, help=f"Print the completion script of {shell}.")
    @switch("--no-descriptions", "bare", text="Offer names only, without a line of help.")
    @click.pass_context
    def command(context: click.Context, bare: bool) -> None:
        write(script(context, shell, descriptions=not bare), STDOUT, "completion script")

    return command


completion = NscGroup(
    name="completion",
    help="Print the script with which a shell completes commands, flags and names.",
    epilog="\b\nTo use it:\n" + "\n".join(SHELLS.values()),
    commands=[_command(shell) for shell in SHELLS],
)
