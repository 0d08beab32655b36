"""`pyjs auth account add` and `edit`."""

from __future__ import annotations

from typing import Any

import click

from ....cli import output, prompt
from ....cli.command import LocalCommand
from ....cli.errors import RefusedError, UsageError
from ....cli.setting import flags
from ....keys.workspace.accounts import add_account, edit_account
from .. import folders
from ..outcome import checked
from ..page import LEGACY
from . import page
from .settings import SETTINGS, ask_limits, ask_storage, edits_of


@click.command(cls=LocalCommand)
@output.showing("auth_account", legacy=LEGACY)
@click.argument("account", required=False, default="")
@folders.OPERATOR
@click.option("--key", default="", help="The operator's key that signs: its public key, seed or file.")
@flags(SETTINGS, "add")
@click.option("--defaults", is_flag=True, help="Ask nothing but for what has no default.")
async def add(account: str, operator: str, key: str, defaults: bool, **given: Any) -> None:
    """Make an account. Users may log in by their token alone only with --bearer."""
    here = await folders.in_operator(operator)
    explain = "a unique name for the account being added"
    account = account or await prompt.text("Account Name", flag="<ACCOUNT>", required=True, explain=explain)
    if account in here.store().accounts():
        raise RefusedError(f"account {account} already exists", f"'auth account edit {account}' changes it")
    if not defaults:
        await ask_limits(given)
    await ask_storage(given)
    given["bearer"] = bool(given["bearer"])
    edits = edits_of(given, here.now(), enabled=False)
    made = checked(add_account(folders.signing_with(here, key), account, edits=edits))
    page.show(made.workspace, made.name)


@click.command(cls=LocalCommand)
@output.showing("auth_account", legacy=LEGACY)
@folders.ACCOUNT
@folders.OPERATOR
@flags(SETTINGS, "edit")
async def edit(account: str, operator: str, **given: Any) -> None:
    """Change an account; what no flag gives stays as it is."""
    here, name = await folders.in_account(operator, account)
    enabled = here.store().account(name).nats.limits.jetstream_enabled
    if not enabled:
        await ask_storage(given)
    edits = edits_of(given, here.now(), enabled=enabled)
    if edits.given:
        checked(edit_account(here, name, edits))
    elif given["jetstream"] is None:  # which may say what is so already
        raise UsageError("nothing is to be changed", "'auth account edit --help' lists what can be")
    page.show(here, name)
