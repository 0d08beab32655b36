"""`nsc push`: accounts to the servers."""

from __future__ import annotations

from typing import Any

import click

from ...cli import prompt
from ...keys import Workspace, WorkspaceError
from ...keys.workspace.servers.access import check_url
from ...keys.workspace.servers.push import push as pushed
from . import completion, prompts
from .command import NscCommand, finish, open_workspace, run, switch
from .server_flags import reach, system_flags, timeout_flag


@click.command(cls=NscCommand)
@prompts.ACCOUNT
@switch("-A", "--all", "everything", text="Push all accounts of the operator.")
@switch("-F", "--force", text="Push whatever validation says.")
@click.option("-u", "--account-jwt-server-url", "url", default="", help="Servers; else the operator's URL.")
@switch("-P", "--prune", text="Remove from the servers the accounts that are not in the store.")
@switch("-D", "--diff", text="List the accounts of the servers, and which are not in the store.")
@click.option(
    "-R",
    "--account-removal",
    "removed",
    default="",
    metavar="ACCOUNT",
    help="Remove this account from the servers.",
    shell_complete=completion.accounts,
)
@timeout_flag
@system_flags
async def push(account: str, everything: bool, url: str, removed: str, **given: Any) -> None:
    """Push the current account, one that is named, or all, to the operator's servers.

    Servers with a NATS based resolver can be pruned too; --prune, --diff and --account-removal push nothing
    unless --all is there. Accounts are validated first.
    """
    if everything and account:
        raise WorkspaceError("specify only one of --account or --all-accounts")
    workspace = open_workspace()
    to_do = {"force": given.pop("force"), "prune": given.pop("prune"), "diff": given.pop("diff")}
    alone = not everything and not (to_do["prune"] or to_do["diff"] or removed)
    names = _named(workspace, await prompts.account(workspace, account)) if alone else []
    if run().interactive:
        url = await _url(workspace, url)
    if everything:
        names = workspace.store().accounts()
        if not names:
            raise WorkspaceError(f'operator "{workspace.store().name}" has no accounts')
    finish(await pushed(workspace, names, reach(given, url), remove=removed, **to_do))


def _named(workspace: Workspace, account: str) -> list[str]:
    name = workspace.account_name(account)
    if name not in workspace.store().accounts():
        raise WorkspaceError(
            f'account "{name}" is not under operator "{workspace.store().name}" - nsc env to check your env'
        )
    return [name]


async def _url(workspace: Workspace, given: str) -> str:
    def checked(text: str) -> str:
        check_url(text)
        return text

    return await prompt.text(
        "Account Server URL or nats-resolver enabled nats-server URL",
        flag="--account-jwt-server-url",
        default=given or workspace.operator().nats.account_server_url or None,
        required=True,
        check=checked,
    )
