"""`nsc pull`: accounts from the servers."""

from __future__ import annotations

from typing import Any

import click

from ...cli import prompt
from ...keys.workspace.servers.pull import pull as pulled
from . import prompts
from .command import NscCommand, finish, open_workspace, run, switch
from .server_flags import reach, system_flags


@click.command(cls=NscCommand)
@prompts.ACCOUNT
@switch("-A", "--all", "everything", text="The operator and all its accounts.")
@switch("-F", "--overwrite-newer", "overwrite", text="Replace tokens that are newer than the servers'.")
@system_flags
async def pull(account: str, everything: bool, overwrite: bool, **given: Any) -> None:
    """Replace the tokens of the store by those of the servers.

    Servers with a NATS based resolver can only give everything: --all.
    """
    workspace = open_workspace()
    if run().interactive and not everything:
        name = workspace.store().name
        everything = await prompt.confirm(f'pull operator "{name}" and all accounts', default=True)
        account = account if everything else await prompts.account(workspace, account)
    finish(await pulled(workspace, account, reach(given), everything=everything, overwrite=overwrite))
