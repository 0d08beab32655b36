"""`pyjs auth user info` and `ls`."""

from __future__ import annotations

from typing import Any

import click

from ....cli import output, render
from ....cli.command import LocalCommand
from ....cli.output import FLAG, NAME, NUMBER, TEXT, Column, Table
from ....keys import AccountClaims, IdentityError, OperatorStore
from .. import folders
from ..page import LEGACY, limit, truth
from . import page


def _mark(field: str) -> Any:
    return lambda record: "✓" if record[field] else ""


USERS = Table(
    "auth_users",
    "Users",
    (
        Column("name", "Name", NAME),
        Column("subject", "Subject", NAME),
        Column("scoped", "Scoped", FLAG, show=lambda record: truth(record["scoped"])),
        Column("publish", "Pub Perms", FLAG, show=_mark("publish")),
        Column("subscribe", "Sub Perms", FLAG, show=_mark("subscribe")),
        Column("subscriptions", "Max Subscriptions", NUMBER, show=lambda each: limit(each["subscriptions"])),
        Column("issuer", "Issuer", NAME, wide=True),
        Column("error", "Error", TEXT, optional=True),
    ),
    empty="No users found",
    spare=("subscriptions", "subject", "scoped"),
)


@click.command(cls=LocalCommand)
@output.showing("auth_user", legacy=LEGACY)
@folders.USER
@folders.ACCOUNT
@folders.OPERATOR
async def info(name: str, account: str, operator: str) -> None:
    """Show a user."""
    page.show(*await folders.in_user(operator, account, name))


@click.command(cls=LocalCommand)
@output.listing(USERS)
@folders.ACCOUNT
@folders.OPERATOR
@click.option("--names", is_flag=True, help="Show only the names.")
async def ls(account: str, operator: str, names: bool) -> None:
    """List the users of an account."""
    here, owner = await folders.in_account(operator, account)
    store = here.store()
    known = store.users(owner)
    if names and known:
        render.show("\n".join(known))
        return
    claims = store.account(owner)
    records = [_record(store, owner, claims, name) for name in known]
    output.show(USERS.of(records, title=f"Users in account {owner}"))


def _record(store: OperatorStore, account: str, owner: AccountClaims, name: str) -> dict[str, Any]:
    try:
        claims = store.user(account, name)
    except IdentityError as error:
        flags = dict.fromkeys(("scoped", "publish", "subscribe"), False)
        return {"name": name, "subject": "", **flags, "subscriptions": 0, "issuer": "", "error": str(error)}
    limited = page.limits_of(owner, claims)
    return {
        "name": name,
        "subject": claims.sub,
        "scoped": owner.scope(claims.iss) is not None,
        "publish": bool(limited.pub.allow or limited.pub.deny),
        "subscribe": bool(limited.sub.allow or limited.sub.deny),
        "subscriptions": limited.subs,
        "issuer": claims.iss,
        "error": "",
    }
