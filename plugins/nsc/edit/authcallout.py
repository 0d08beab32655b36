"""`nsc edit authcallout`."""

from __future__ import annotations

import click

from ....keys.workspace.authcallout import CalloutChanges, edit_callout
from .. import completion, prompts
from ..command import NscCommand, finish, listed, open_workspace, switch


@click.command(cls=NscCommand)
@click.argument("name", metavar="[ACCOUNT]", default="", shell_complete=completion.accounts)
@switch("--disable", text="disable external authorization")
@listed("--auth-user", "users", text="user (key or name) that bypasses the callout, as its service does")
@listed("--allowed-account", "accounts", text="account (key or name) to bind users to; '*' for any")
@listed("--rm-auth-user", "rm_users", text="remove such a user")
@listed("--rm-allowed-account", "rm_accounts", text="remove such an account or the '*'")
@click.option(
    "-x", "--curve", default="", metavar="KEY", help='encryption target: a curve key, a path, or "generate"'
)
@switch("--rm-curve", text="remove curve encryption target")
@prompts.ACCOUNT
def authcallout(
    name: str,
    account: str,
    disable: bool,
    users: tuple[str, ...],
    accounts: tuple[str, ...],
    rm_users: tuple[str, ...],
    rm_accounts: tuple[str, ...],
    curve: str,
    rm_curve: bool,
) -> None:
    """Edit an account's authorization callout."""
    changes = CalloutChanges(users, rm_users, accounts, rm_accounts, curve, rm_curve, disable)
    finish(edit_callout(open_workspace(), changes, account=account or name))
