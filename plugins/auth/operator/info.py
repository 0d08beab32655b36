"""`pyjs auth operator info`, `list` and `select`."""

from __future__ import annotations

import click

from ....cli import output, prompt, render
from ....cli.command import LocalCommand
from ....cli.output import NAME, NUMBER, TEXT, Column, Table
from ....keys import IdentityError, Workspace
from .. import completion, folders
from ..page import LEGACY
from . import page

OPERATORS = Table(
    "auth_operators",
    "Operators",
    (
        Column("name", "Name", NAME),
        Column("subject", "Subject", NAME),
        Column("accounts", "Accounts", NUMBER),
        Column("account_server", "Account Server", TEXT),
        Column("signing_keys", "Signing Keys", NUMBER),
        Column("current", "Current", output.FLAG, wide=True),
        Column("error", "Error", TEXT, optional=True),
    ),
    empty="No Operators found",
    spare=("signing_keys", "account_server", "subject"),
)
NAME_ARGUMENT = click.argument("name", required=False, default="", shell_complete=completion.operators)


@click.command(cls=LocalCommand)
@output.showing("auth_operator", legacy=LEGACY)
@NAME_ARGUMENT
async def info(name: str) -> None:
    """Show an operator; without a name the current one."""
    page.show(await folders.in_operator(name, argument="<NAME>"))


@click.command("list", cls=LocalCommand)
@output.listing(OPERATORS)
@click.option("--names", is_flag=True, help="Show only the names.")
def listing(names: bool) -> None:
    """List the operators."""
    here = folders.opened()
    known = here.stores.names()
    if names and known:
        render.show("\n".join(known))
        return
    output.show(OPERATORS.of(_record(here, name) for name in known))


def _record(here: Workspace, name: str) -> dict[str, object]:
    record = {"name": name, "current": name == here.context.operator, "error": ""}
    try:
        store = here.stores.open(name)
        claims = store.operator()
    except IdentityError as error:
        empty = {"subject": "", "accounts": 0, "account_server": "", "signing_keys": 0}
        return {**record, **empty, "error": str(error)}
    return {
        **record,
        "subject": claims.sub,
        "accounts": len(store.accounts()),
        "account_server": claims.nats.account_server_url,
        "signing_keys": len(claims.nats.signing_keys),
    }


@click.command(cls=LocalCommand)
@NAME_ARGUMENT
async def select(name: str) -> None:
    """Choose the current operator, for 'pyjs auth' and 'pyjs nsc', and for nsc."""
    if not name:
        name = await prompt.pick("Operator", folders.opened().stores.names(), argument="<NAME>")
    here = (await folders.in_operator(name)).save()
    render.show(f'Selected operator "{here.context.operator}" as default')
