"""`nsc delete export`."""

from __future__ import annotations

import click

from ....keys.workspace.exports import delete_export
from .. import prompts, questions
from ..command import NscCommand, finish, open_workspace, run, switch


@click.command("export", cls=NscCommand)
@click.option("-s", "--subject", default="", help="subject; a sole export needs none")
@switch(
    "--service",
    default=None,
    text="the service, or with --service=false the stream, where both have the subject",
)
@prompts.ACCOUNT
async def delete(account: str, subject: str, service: bool | None) -> None:
    """Delete an export."""
    workspace = open_workspace()
    kind = prompts.named_kind(service)
    if run().interactive:
        account = await prompts.account(workspace, account)
        claims = workspace.account(account)
        exports = [e for e in claims.nats.exports if subject in ("", e.subject)]
        chosen = await prompts.export("select export to delete", exports, claims.name)
        subject, kind = chosen.subject, chosen.type
        workspace = await questions.account_signer(workspace, workspace.account(account))
    finish(delete_export(workspace, subject=subject, kind=kind, account=account))
