"""`nsc add export`."""

from __future__ import annotations

from typing import Any

import click

from ....cli import prompt
from ....cli.param import DURATION
from ....keys import Export, WorkspaceError
from ....keys.claims import ServiceLatency
from ....keys.workspace.exports import RESPONSE_TYPES, SINGLETON, add_export, read_sampling
from .. import prompts, questions
from ..command import NscCommand, finish, open_workspace, run, switch


@click.command("export", cls=NscCommand)
@click.option("-n", "--name", default="", help="export name")
@click.option("-s", "--subject", default="", help="subject")
@switch("-r", "--service", text="export type service")
@switch("-p", "--private", text="private export - requires an activation to access")
@click.option("--latency", default="", metavar="SUBJECT", help="latency metrics subject (services only)")
@click.option(
    "--sampling", default="", help='latency sampling percentage [1-100] or "header" (services only)'
)
@click.option(
    "--response-threshold", type=DURATION, default=0, help="response threshold, as 500ms (services only)"
)
@click.option(
    "--response-type",
    default=SINGLETON,
    show_default=True,
    help=f"response type of a service [{' | '.join(RESPONSE_TYPES)}]; a stream has none",
)
@click.option(
    "--account-token-position",
    type=click.IntRange(min=0),
    default=0,
    help="subject token position where account is expected (public exports only)",
)
@switch("--advertise", text="advertise export")
@switch("--allow-trace", text="allow trace requests")
@prompts.ACCOUNT
async def add(account: str, **given: Any) -> None:
    """Add an export: a stream, or with --service a service, that other accounts may import."""
    workspace = open_workspace()
    if run().interactive:
        account = await prompts.account(workspace, account)
        given = await _asked(given)
        workspace = await questions.account_signer(workspace, workspace.account(account))
    if given["sampling"] and not given["latency"]:
        raise WorkspaceError("sampling needs a subject for the metrics: --latency")
    if given["response_threshold"] and not given["service"]:
        raise WorkspaceError("response threshold is only applicable to services")
    export = Export(
        name=given["name"],
        subject=given["subject"],
        type="service" if given["service"] else "stream",
        token_req=given["private"],
        response_type=given["response_type"] if given["service"] else "",
        response_threshold=given["response_threshold"],
        service_latency=_latency(given["latency"], given["sampling"]),
        account_token_position=given["account_token_position"],
        advertise=given["advertise"],
        allow_trace=given["allow_trace"],
    )
    finish(add_export(workspace, export, account=account))


def _latency(subject: str, sampling: str) -> ServiceLatency | None:
    if not subject:
        return None
    return ServiceLatency(results=subject, sampling=read_sampling(sampling or "header"))


async def _asked(given: dict[str, Any]) -> dict[str, Any]:
    """Return the answers in place of what was given on the line."""
    service = await prompts.kind("export type", given["service"])
    subject = await prompt.text(
        "subject", flag="--subject", default=given["subject"], required=True, check=prompts.subject
    )
    name = await prompt.text("name", flag="--name", default=given["name"] or subject, required=True)
    private = await prompts.yes(f"private {prompts.KINDS[service]}", "--private", given["private"])
    given |= {"service": service, "subject": subject, "name": name, "private": private}
    if service:
        given |= await prompts.service(given)
        given["allow_trace"] = await prompts.yes("allow tracing", "--allow-trace", given["allow_trace"])
    return given
