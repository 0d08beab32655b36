"""`nsc describe operator`."""

from __future__ import annotations

from dataclasses import replace

import click

from ....keys import KeyRole, NotFoundError, Workspace, is_public
from ....keys.workspace.listing import operators
from .. import completion, pages
from ..command import NscCommand, open_workspace
from .token_output import TokenOutput, shown


@click.command(cls=NscCommand)
@click.argument("given", metavar="[NAME]", required=False, default="", shell_complete=completion.operators)
@click.option(
    "-n",
    "--name",
    default="",
    help="Name or public key of the operator.",
    shell_complete=completion.operators,
)
@shown
def operator(given: str, name: str, how: TokenOutput) -> None:
    """Describe an operator, by name or public key; without one, the current operator."""
    workspace = named(open_workspace(), name or given)
    store = workspace.store()
    claims = store.operator()
    names = replace(how, long_ids=False).names(workspace)  # an operator's page has room for key and name
    how.show(store.operator_token(), lambda: pages.page(claims, names))


def named(workspace: Workspace, name: str) -> Workspace:
    """Return the workspace of an operator, by name or key. Raises NotFoundError."""
    if not name:
        return workspace
    if is_public(name, KeyRole.OPERATOR):
        found = [entry.name for entry in operators(workspace) if entry.public_key == name]
        if not found:
            raise NotFoundError(f"no operator found with public key {name}")
        name = found[0]
    return workspace.with_operator(name)
