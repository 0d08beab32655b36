"""`pyjs auth operator keys`: the signing keys of an operator."""

from __future__ import annotations

import click

from ....cli import output, prompt, render
from ....cli.command import FORCE, CommandGroup, LocalCommand
from ....cli.errors import warn
from ....cli.output import FLAG, NAME, NUMBER, Column, Table
from ....keys import Workspace
from ....keys.workspace.edits import SigningKeys
from ....keys.workspace.operators import OperatorEdits, edit_operator
from ....keys.workspace.signing import GENERATE
from .. import folders
from .info import NAME_ARGUMENT

KEYS = Table(
    "auth_operator_keys",
    "Signing Keys",
    (
        Column("key", "Key", NAME),
        Column("stored", "Stored", FLAG),
        Column("accounts", "Accounts", NUMBER),
    ),
    key="key",
    empty="No Signing Keys defined",
)

keys = CommandGroup(name="keys", help="Manage the signing keys of an operator.")


@keys.command("list", cls=LocalCommand)
@output.listing(KEYS)
@NAME_ARGUMENT
async def listing(name: str) -> None:
    """List signing keys; with -o also whether their seeds are stored, and how many accounts each signed."""
    here = await folders.in_operator(name, argument="<NAME>")
    found = here.operator().nats.signing_keys
    records = [
        {"key": key, "stored": here.keystore.has(key), "accounts": len(_signed(here, key))} for key in found
    ]
    plain = "" if output.is_asked_for() else "\n".join(found)
    output.show(KEYS.of(records), text=plain)


@keys.command(cls=LocalCommand)
@NAME_ARGUMENT
async def add(name: str) -> None:
    """Make a signing key, and print its public key."""
    here = await folders.in_operator(name, argument="<NAME>")
    before = here.operator().nats.signing_keys
    made = edit_operator(here, OperatorEdits(signing_keys=SigningKeys(add=(GENERATE,))))
    render.show("\n".join(key for key in made.claims.nats.signing_keys if key not in before))


@keys.command("rm", cls=LocalCommand)
@NAME_ARGUMENT
@click.argument("key", required=False, default="")
@FORCE
async def remove(name: str, key: str, force: bool) -> None:
    """Remove a signing key, and its seed from the keystore."""
    here = await folders.in_operator(name, argument="<NAME>")
    known = here.operator().nats.signing_keys
    key = key or await prompt.pick("Signing Key", known, argument="<KEY>")
    if key not in known:
        raise prompt.no_match("Signing Key", key, known)
    if signed := _signed(here, key):
        warn(f"it signed the accounts {', '.join(signed)}: servers refuse them until they are edited again")
    if await prompt.sure(f"Really remove the signing key {key}", forced=force):
        edit_operator(here, OperatorEdits(signing_keys=SigningKeys(remove=(key,), forget=True)))
        render.show("Signing key removed")


keys.add_alias("list", "ls")
keys.add_alias("add", "new", "create")
keys.add_alias("rm", "delete")


def _signed(here: Workspace, key: str) -> list[str]:
    """Return the names of the accounts that a key signed."""
    store = here.store()
    return [name for name in store.accounts() if store.account(name).iss == key]
