"""`nsc list operators|accounts|users`."""

from __future__ import annotations

import json
import os

import click

from ....keys import Workspace
from ....keys.workspace import listing
from .. import completion
from ..command import NscCommand, open_workspace, run
from ..table import TextTable, bold
from .flags import JSON

OPERATOR = click.option(
    "-o",
    "--operator",
    default="",
    help="Operator; it becomes the current one.",
    shell_complete=completion.operators,
)


@click.command(cls=NscCommand)
@JSON
def operators(as_json: bool) -> None:
    """List the operators in the stores directory."""
    workspace = open_workspace()
    entries = listing.operators(workspace)
    if not entries and not (as_json or run().json):
        click.echo(f'no operators defined in store dir "{workspace.stores.root}"')
        click.echo("init an environment or change the store root with `env --store <dir>`")
        return
    _show("Operators", entries, workspace.context.operator, as_json)


@click.command(cls=NscCommand)
@OPERATOR
@JSON
def accounts(operator: str, as_json: bool) -> None:
    """List the accounts of an operator."""
    workspace = _in_operator(operator)
    _show("Accounts", listing.accounts(workspace), workspace.context.account, as_json)


@click.command(cls=NscCommand)
@OPERATOR
@click.option(
    "-a",
    "--account",
    default="",
    help="Account; it becomes the current one.",
    shell_complete=completion.accounts,
)
@JSON
def users(operator: str, account: str, as_json: bool) -> None:
    """List the users of an account."""
    workspace = _in_operator(operator)
    if account:
        workspace = workspace.with_account(account).save()
    _show("Users", listing.users(workspace), "", as_json)


def _in_operator(name: str) -> Workspace:
    workspace = open_workspace()
    return workspace.with_operator(name).save() if name else workspace


def _show(title: str, entries: list[listing.ListedItem], current: str, as_json: bool) -> None:
    if as_json or run().json:
        click.echo(json.dumps([entry.document() for entry in entries], indent=1, ensure_ascii=False))
        return
    table = TextTable(title, ("Name", "Public Key") if entries else ())
    if not entries:
        table.row("No entries defined")
    for entry in entries:
        name = entry.name
        if entry.claimed and entry.claimed != name:
            name = f"{name} ({entry.claimed})"
        key = entry.public_key if not entry.error else f"error loading jwt - {entry.error}"
        mark = bold if name == current and not os.environ.get("NO_COLOR") else str
        table.row(mark(name), mark(key))
    click.echo(table.render())
