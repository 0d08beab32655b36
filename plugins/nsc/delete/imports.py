"""`nsc delete import`."""

from __future__ import annotations

import click

from ....cli import prompt
from ....cli.errors import CliError
from ....keys import Import, Workspace
from ....keys.claims.issues import quote
from ....keys.workspace.imports import delete_import
from ....keys.workspace.resolve import account_label
from .. import completion, prompts, questions
from ..command import NscCommand, finish, open_workspace, run, switch


@click.command("import", cls=NscCommand)
@click.option("-s", "--subject", default="", help="stream/service subject; a sole import needs none")
@click.option(
    "--src-account",
    default="",
    metavar="NAME",
    help="source account (only if subject is ambiguous)",
    shell_complete=completion.accounts,
)
@switch(
    "--service",
    default=None,
    text="the service, or with --service=false the stream, where both have the subject",
)
@prompts.ACCOUNT
async def delete(account: str, subject: str, src_account: str, service: bool | None) -> None:
    """Delete an import."""
    workspace = open_workspace()
    kind = prompts.named_kind(service)
    if run().interactive:
        account = await prompts.account(workspace, account)
        chosen = await _picked(workspace, account, subject)
        subject, src_account, kind = chosen.subject, chosen.account, chosen.type
        workspace = await questions.account_signer(workspace, workspace.account(account))
    finish(delete_import(workspace, subject=subject, exporter=src_account, kind=kind, account=account))


async def _picked(workspace: Workspace, account: str, subject: str) -> Import:
    claims = workspace.account(account)
    imports = [item for item in claims.nats.imports if subject in ("", item.subject)]
    if not imports:
        raise CliError(f"account {quote(claims.name)} doesn't have imports")
    choices = [(_label(workspace, item), f"{at}") for at, item in enumerate(imports)]
    chosen = imports[int(await prompt.choose("select import to delete", choices, flag="", default="0"))]
    prompt.note("--subject", chosen.subject)
    prompt.note("--src-account", chosen.account)
    return chosen


def _label(workspace: Workspace, item: Import) -> str:
    """Return an import as it is shown in a list of choices: `-> [name] subject [!] (account)`."""
    arrow = "<-" if item.type == "service" else "->"
    name = "" if item.name in ("", item.subject) else f"[{item.name}] "
    mark = " [!]" if item.token else ""
    return f"{arrow} {name}{item.subject}{mark} ({account_label(workspace, item.account) or item.account})"
