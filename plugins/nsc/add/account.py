"""`nsc add account`."""

from __future__ import annotations

import click

from ....keys.workspace.accounts import add_account
from ....keys.workspace.edits import Dates
from ....keys.workspace.permissions import PermissionEdits
from .. import questions
from ..command import NscLocalCommand, finish, open_workspace, run
from ..permissions import date_options, permission_options


@click.command(cls=NscLocalCommand)
@click.argument("argument", metavar="[NAME]", default="")
@click.option("-n", "--name", default="", metavar="NAME", help="account name; * makes one up")
@click.option(
    "-k", "--public-key", "key", default="", metavar="KEY", help="public key identifying the account"
)
@date_options()
@permission_options("default permissions")
async def account(argument: str, name: str, key: str, dates: Dates, permissions: PermissionEdits) -> None:
    """Add an account, which then is the current one."""
    workspace = open_workspace()
    name = name or argument
    if run().interactive:
        name = await questions.name("account name", name)
        key = await questions.key("account", key)
        dates = await questions.dates(dates)
        workspace = await questions.operator_signer(workspace, "select the key to sign the account")
    finish(add_account(workspace, name, key=key, dates=dates, permissions=permissions))
