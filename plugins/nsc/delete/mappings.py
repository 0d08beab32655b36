"""`nsc delete mapping`."""

from __future__ import annotations

import click

from ....keys.workspace.mappings import delete_mapping
from .. import prompts, questions
from ..command import NscCommand, finish, open_workspace, run


@click.command("mapping", cls=NscCommand)
@click.option("-f", "--from", "source", default="", help="map from subject (required)")
@click.option(
    "-t",
    "--to",
    "target",
    default="",
    help="to subject; only that mapping is removed. Without it all mappings for the from subject are.",
)
@click.option("--cluster", default="", help="the cluster of the mapping, or of all that are removed")
@prompts.ACCOUNT
async def delete(account: str, source: str, target: str, cluster: str) -> None:
    """Delete a mapping: one target, or all of a subject."""
    workspace = open_workspace()
    if run().interactive:
        account = await prompts.account(workspace, account)
        source = await prompts.wanted_subject("map from subject", "--from", source)
        workspace = await questions.account_signer(workspace, workspace.account(account))
    finish(delete_mapping(workspace, source, target=target, cluster=cluster, account=account))
