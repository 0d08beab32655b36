"""`pyjs auth account info` and `ls`."""

from __future__ import annotations

from typing import Any

import click

from ....cli import output, render
from ....cli.command import LocalCommand
from ....cli.output import NAME, NUMBER, TEXT, Column, Table
from ....keys import IdentityError, OperatorStore
from .. import completion, folders
from ..page import LEGACY
from . import page


def _mark(field: str) -> Any:
    """Return what shows a flag as `true` or as nothing."""
    return lambda record: "true" if record[field] else ""


ACCOUNTS = Table(
    "auth_accounts",
    "Accounts",
    (
        Column("name", "Name", NAME),
        Column("subject", "Subject", NAME),
        Column("users", "Users", NUMBER),
        Column("jetstream", "JetStream", output.FLAG, show=_mark("jetstream")),
        Column("system", "System", output.FLAG, show=_mark("system")),
        Column("issuer", "Issuer", NAME, wide=True),
        Column("error", "Error", TEXT, optional=True),
    ),
    empty="No Accounts found",
    spare=("subject", "system"),
)


@click.command(cls=LocalCommand)
@output.showing("auth_account", legacy=LEGACY)
@folders.ACCOUNT
@folders.OPERATOR
async def info(account: str, operator: str) -> None:
    """Show an account."""
    page.show(*await folders.in_account(operator, account))


@click.command(cls=LocalCommand)
@output.listing(ACCOUNTS)
@click.argument("operator", required=False, default="", shell_complete=completion.operators)
@click.option("--names", is_flag=True, help="Show only the names.")
async def ls(operator: str, names: bool) -> None:
    """List the accounts of an operator."""
    store = (await folders.in_operator(operator, argument="<OPERATOR>")).store()
    known = store.accounts()
    if names and known:
        render.show("\n".join(known))
        return
    system = store.operator().nats.system_account
    output.show(ACCOUNTS.of(_record(store, name, system) for name in known))


def _record(store: OperatorStore, name: str, system: str) -> dict[str, Any]:
    users = len(store.users(name))
    try:
        claims = store.account(name)
    except IdentityError as error:
        empty = {"subject": "", "jetstream": False, "system": False, "issuer": ""}
        return {"name": name, "users": users, **empty, "error": str(error)}
    return {
        "name": name,
        "subject": claims.sub,
        "users": users,
        "jetstream": claims.nats.limits.jetstream_enabled,
        "system": claims.sub == system,
        "issuer": claims.iss,
        "error": "",
    }
