"""`nsc generate activation`."""

from __future__ import annotations

from pathlib import Path

import click

from ....cli import prompt
from ....keys import OperationReport, Workspace, WorkspaceError, decorate_jwt, files
from ....keys.claims.issues import quote
from ....keys.claims.subjects import contained
from ....keys.workspace.accountserver import is_http
from ....keys.workspace.activations import (
    activation_server,
    generate_activation,
    private_exports,
    push_activation,
)
from ....keys.workspace.flag_values import moment
from ....keys.workspace.report import place as shown
from .. import completion, prompts, questions
from ..command import NscCommand, finish, open_workspace, run, switch
from ..output import STDOUT, output_file

_SPANS = "yyyy-mm-dd, #m(inutes), #h(ours), #d(ays), #w(eeks), #M(onths), #y(ears)"


@click.command(cls=NscCommand)
@click.option("-s", "--subject", default="", help="export subject, or a part of it; a sole one needs none")
@output_file("-o", "--output-file")
@switch("--push", text="push activation token to operator's account server (exclusive of output-file)")
@click.option(
    "-t",
    "--target-account",
    "target",
    default="",
    metavar="NAME",
    help="name or public key of the importer",
    shell_complete=completion.accounts,
)
@click.option("--start", default="", help=f"valid from ('0' is always, '3d' is three days) - {_SPANS}")
@click.option("--expiry", default="", help=f"valid until ('0' is always, '2M' is two months) - {_SPANS}")
@prompts.ACCOUNT
async def activation(
    account: str, subject: str, where: str, push: bool, target: str, start: str, expiry: str
) -> None:
    """Generate an export activation jwt token."""
    workspace = open_workspace()
    if run().interactive:
        account = await prompts.account(workspace, account)
        subject, target, start, expiry = await _asked(workspace, account, subject, target, start, expiry)
        workspace = await questions.user_signer(workspace, account, "select the key to use for signing")
        push = push or await _push_too(workspace)
    if not target:
        raise WorkspaceError("target-account cannot be empty")
    if push and where != STDOUT:
        raise WorkspaceError("--push and --output-file exclude each other")
    if push:
        activation_server(workspace)
    made = generate_activation(
        workspace,
        target,
        subject=subject,
        start=_moment("start", start, workspace),
        expiry=_moment("expiry", expiry, workspace),
        account=account,
    )
    text = decorate_jwt(made.token)
    if where != STDOUT:
        _write(text, where, made.report)
    elif not run().json:
        click.echo(text)
    if push:
        push_activation(workspace, made)
    finish(made)


def _write(text: str, where: str, report: OperationReport) -> None:
    path = Path(where).expanduser()
    files.write(path, text)
    report.ok(f"wrote activation token to {shown(path)}")


def _moment(flag: str, text: str, workspace: Workspace) -> int:
    try:
        return moment(text, workspace.now())
    except WorkspaceError as error:
        raise WorkspaceError(f"{flag} {quote(text)} is invalid: {error}") from None


async def _asked(
    workspace: Workspace, account: str, subject: str, target: str, start: str, expiry: str
) -> tuple[str, str, str, str]:
    claims = workspace.account(account)
    private = private_exports(claims)
    if not private:
        raise WorkspaceError(
            f"account {quote(claims.name)} doesn't have exports that require an activation token"
        )
    export = await prompts.export("select the export", private, claims.name)

    def inside(text: str) -> str:
        prompts.subject(text)
        if not contained(text, export.subject):
            raise ValueError(f"{quote(export.subject)} doesn't contain {quote(text)}")
        return text

    def when(text: str) -> str:
        moment(text, workspace.now())
        return text

    subject = await prompt.text("subject", flag="--subject", default=subject or export.subject, check=inside)
    target = await prompt.text(
        "target-account public key", flag="--target-account", default=target or None, required=True
    )
    start = await prompt.text("valid from", flag="--start", default=start or "0", explain=_SPANS, check=when)
    expiry = await prompt.text(
        "valid until (0 is always)", flag="--expiry", default=expiry or "0", explain=_SPANS, check=when
    )
    return subject, target, start, expiry


async def _push_too(workspace: Workspace) -> bool:
    url = workspace.operator().nats.account_server_url
    return is_http(url) and await prompts.yes(f"push the activation to {quote(url)}", "--push", False)
