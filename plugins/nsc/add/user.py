"""`nsc add user`."""

from __future__ import annotations

import click

from ....keys.workspace.edits import Dates
from ....keys.workspace.permissions import PermissionEdits, UserEdits
from ....keys.workspace.users import add_user
from .. import prompts, questions
from ..command import NscLocalCommand, finish, listed, open_workspace, run, switch
from ..permissions import date_options, permission_options

_LIST = "comma separated list or option can be specified multiple times"


@click.command(cls=NscLocalCommand)
@click.argument("argument", metavar="[NAME]", default="")
@click.option("-n", "--name", default="", metavar="NAME", help="user name; * makes one up")
@prompts.ACCOUNT
@click.option("-k", "--public-key", "key", default="", metavar="KEY", help="public key identifying the user")
@listed("--tag", text=f"tags for user - {_LIST}")
@listed("--source-network", text=f"source network for connection - {_LIST}")
@switch("--bearer", text="no connect challenge required for user")
@date_options()
@permission_options()
async def user(
    argument: str,
    name: str,
    account: str,
    key: str,
    tag: tuple[str, ...],
    source_network: tuple[str, ...],
    bearer: bool,
    dates: Dates,
    permissions: PermissionEdits,
) -> None:
    """Add a user to an account, and write its credentials.

    With -K naming the role of a scoped signing key, the user has that role's permissions.
    """
    workspace = open_workspace()
    name = name or argument
    if run().interactive:
        account = await prompts.account(workspace, account)
        name = await questions.name("user name", name)
        key = await questions.key("user", key)
        dates = await questions.dates(dates)
        workspace = await questions.user_signer(workspace, account, "select the key to sign the user")
    edits = UserEdits(permissions=permissions, src=source_network, bearer=bearer or None)
    finish(add_user(workspace, name, account=account, key=key, edits=edits, dates=dates, tags=tag))
