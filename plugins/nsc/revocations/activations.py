"""`nsc revocations add_activation|delete_activation|list_activations`."""

from __future__ import annotations

import click

from ....cli import prompt
from ....keys import Workspace, WorkspaceError
from ....keys.workspace.account_update import AccountUpdate
from ....keys.workspace.resolve import account_label
from ....keys.workspace.revocations import (
    exports_of,
    revoke_activation,
    revoked_activations,
    unrevoke_activation,
)
from .. import completion, prompts, questions
from ..command import NscCommand, finish, open_workspace, run, switch
from . import listing

_ANYONE = "*"
_SUBJECT = click.option("-s", "--subject", default="", help="export subject; a sole export needs none")
_SERVICE = switch("--service", text="the export is a service")
_TARGET = click.option(
    "-t",
    "--target-account",
    "target",
    default="",
    metavar="NAME",
    help="account's name or public key, '*' for all",
    shell_complete=completion.accounts,
)


@click.command("add_activation", cls=NscCommand)
@listing.AT
@_SUBJECT
@_SERVICE
@_TARGET
@prompts.ACCOUNT
async def add(account: str, subject: str, service: bool, target: str, at: str) -> None:
    """Revoke an account's access to an export, or with '*' that of all accounts."""
    workspace = open_workspace()
    if run().interactive:
        account, subject, service = await _picked(workspace, account, subject, service)
        target = await prompt.text(
            "target-account public key or '*' to match any target-account",
            flag="--target-account",
            default=target or None,
            required=True,
        )
        at = await listing.asked(workspace, at)
        workspace = await questions.account_signer(workspace, workspace.account(account))
    _need(target)
    finish(
        revoke_activation(
            workspace,
            target,
            subject=subject,
            kind=prompts.KINDS[service],
            at=listing.moment(workspace, at),
            account=account,
        )
    )


@click.command("delete_activation", cls=NscCommand)
@_SUBJECT
@_SERVICE
@_TARGET
@prompts.ACCOUNT
async def delete(account: str, subject: str, service: bool, target: str) -> None:
    """Remove an account revocation from an export."""
    workspace = open_workspace()
    if run().interactive:
        account, subject, service = await _picked(workspace, account, subject, service)
        target = target or await _picked_revoked(workspace, account, subject, service)
        workspace = await questions.account_signer(workspace, workspace.account(account))
    _need(target)
    finish(
        unrevoke_activation(workspace, target, subject=subject, kind=prompts.KINDS[service], account=account)
    )


@click.command("list_activations", cls=NscCommand)
@_SUBJECT
@_SERVICE
@prompts.ACCOUNT
async def show(account: str, subject: str, service: bool) -> None:
    """List account revocations for an export."""
    workspace = open_workspace()
    if run().interactive:
        account, subject, service = await _picked(workspace, account, subject, service)
    kind = prompts.KINDS[service]
    export, found = revoked_activations(workspace, subject=subject, kind=kind, account=account)
    if not found and not run().json:
        raise WorkspaceError(f"{kind} {export.name} has no revocations")
    listing.show(f"Revoked Accounts for {kind} {export.name or export.subject}", "All Accounts", found)


def _need(target: str) -> None:
    if not target:
        raise WorkspaceError("target-account cannot be empty")


async def _picked(workspace: Workspace, account: str, subject: str, service: bool) -> tuple[str, str, bool]:
    """Return (account, subject, whether it is a service); what was not given is asked for."""
    account = await prompts.account(workspace, account)
    service = await prompts.yes("is service", "--service", service)
    if not subject:
        update = AccountUpdate.open(workspace, account)
        kind = prompts.KINDS[service]
        chosen = await prompts.export(f"select {kind} export", exports_of(update, kind), update.name)
        subject = chosen.subject
    return account, subject, service


async def _picked_revoked(workspace: Workspace, account: str, subject: str, service: bool) -> str:
    kind = prompts.KINDS[service]
    export, found = revoked_activations(workspace, subject=subject, kind=kind, account=account)
    if not found:
        raise WorkspaceError(f"{kind} export {export.name} doesn't have revocations")
    choices = [(f"{entry.key}: {_whose(workspace, entry.key)}", entry.key) for entry in found]
    return await prompt.choose(
        "select account revocation to delete", choices, flag="--target-account", default=found[0].key
    )


def _whose(workspace: Workspace, key: str) -> str:
    if key == _ANYONE:
        return "All Accounts"
    return account_label(workspace, key) or "[Unknown Account]"
