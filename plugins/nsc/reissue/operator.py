"""`nsc reissue operator`."""

from __future__ import annotations

import click

from ....keys.workspace.reissue import reissue_operator
from .. import completion
from ..command import NscCommand, finish, open_workspace, switch


@click.command(cls=NscCommand)
@click.option(
    "-n",
    "--name",
    default="",
    help="Operator; by default the current one.",
    shell_complete=completion.operators,
)
@switch("--convert-to-signing-key", "convert", text="Keep the old identity as a signing key; accounts stay.")
def operator(name: str, convert: bool) -> None:
    """Give the operator a new identity (or that of -K) and sign its accounts again.

    Every server that trusts the operator needs its new token. Back up servers and folders first.
    """
    workspace = open_workspace()
    finish(reissue_operator(workspace.with_operator(name) if name else workspace, convert=convert))
