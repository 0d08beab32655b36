"""`nsc add mapping`."""

from __future__ import annotations

import click

from ....keys.claims import WeightedMapping
from ....keys.workspace.mappings import add_mapping
from .. import prompts, questions
from ..command import NscCommand, finish, open_workspace, run

_BYTE = 255


@click.command("mapping", cls=NscCommand)
@click.option("-f", "--from", "source", default="", help="map from subject (required)")
@click.option("-t", "--to", "target", default="", help="to subject (required)")
@click.option(
    "--weight",
    type=click.IntRange(0, _BYTE),
    default=0,
    help="weight [1-100] of this mapping entry (default: 100)",
)
@click.option("--cluster", default="", help="in which cluster this mapping should apply")
@prompts.ACCOUNT
async def add(account: str, source: str, target: str, weight: int, cluster: str) -> None:
    """Add (or modify) a mapping entry."""
    workspace = open_workspace()
    if run().interactive:
        account = await prompts.account(workspace, account)
        source = await prompts.wanted_subject("map from subject", "--from", source)
        target = await prompts.wanted_subject("to subject", "--to", target)
        workspace = await questions.account_signer(workspace, workspace.account(account))
    mapping = WeightedMapping(subject=target, weight=weight, cluster=cluster)
    finish(add_mapping(workspace, source, mapping, account=account))
