"""`nsc edit export`."""

from __future__ import annotations

from typing import Any

import click

from ....cli import prompt
from ....cli.param import DURATION
from ....keys import Export, Workspace
from ....keys.workspace.exports import RESPONSE_TYPES, ExportChanges, edit_export, read_sampling
from .. import prompts, questions
from ..command import NscCommand, finish, open_workspace, run, switch


@click.command("export", cls=NscCommand)
@click.option("-n", "--name", default=None, help="export name")
@click.option("-s", "--subject", default="", help="subject of the export to edit")
@switch("-r", "--service", default=None, text="export type service; --service=false for a stream")
@switch("-p", "--private", default=None, text="private export - requires an activation to access")
@click.option("--latency", default=None, metavar="SUBJECT", help="latency metrics subject (services only)")
@click.option(
    "--sampling",
    default=None,
    help='latency sampling percentage [1-100] or "header", 0 ends it (services only)',
)
@switch("--rm-latency-sampling", text="remove latency sampling")
@click.option("--description", default=None, help="description of this export")
@click.option("--info-url", default=None, help="link for more information on this export")
@click.option(
    "--response-threshold", type=DURATION, default=None, help="response threshold, as 500ms (services only)"
)
@switch("--allow-trace", default=None, text="allow trace requests")
@click.option(
    "--response-type", default=None, help=f"response type of a service [{' | '.join(RESPONSE_TYPES)}]"
)
@prompts.ACCOUNT
async def edit(account: str, subject: str, **given: Any) -> None:
    """Edit an export; what no flag names stays as it is."""
    workspace = open_workspace()
    new_subject: str | None = None
    if run().interactive:
        account = await prompts.account(workspace, account)
        chosen, new_subject, given = await _asked(workspace, account, subject, given)
        subject = chosen.subject
        workspace = await questions.account_signer(workspace, workspace.account(account))
    changes = ExportChanges(
        name=given["name"],
        subject=new_subject,
        kind=prompts.named_kind(given["service"]) or None,
        private=given["private"],
        latency=given["latency"],
        sampling=read_sampling(given["sampling"]) if given["sampling"] not in (None, "", "0") else None,
        untrack=given["rm_latency_sampling"] or given["sampling"] == "0",
        response_type=given["response_type"],
        response_threshold=given["response_threshold"],
        allow_trace=given["allow_trace"],
        description=given["description"],
        info_url=given["info_url"],
    )
    finish(edit_export(workspace, changes, subject=subject, account=account))


async def _asked(
    workspace: Workspace, account: str, subject: str, given: dict[str, Any]
) -> tuple[Export, str, dict[str, Any]]:
    """Return (the export to edit, its new subject, the answers)."""
    claims = workspace.account(account)
    exports = [e for e in claims.nats.exports if subject in ("", e.subject)]
    old = await prompts.export("select export to edit", exports, claims.name)
    service = await prompts.kind("export type", old.type == "service")
    new = await prompt.text("subject", flag="", default=old.subject, required=True, check=prompts.subject)
    name = await prompt.text("name", flag="--name", default=given["name"] or old.name, required=True)
    private = await prompts.yes(f"private {prompts.KINDS[service]}", "--private", old.token_req)
    given |= {"service": service, "name": name, "private": private}
    if service:
        given |= await prompts.service(given, old)
        given["rm_latency_sampling"] = not given["latency"]
    given["description"] = await prompt.text(
        "Export Description", flag="--description", default=given["description"] or old.description
    )
    given["info_url"] = await prompt.text(
        "Info url", flag="--info-url", default=given["info_url"] or old.info_url
    )
    return old, new, given
