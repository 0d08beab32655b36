"""`nsc generate profile`."""

from __future__ import annotations

import json
from dataclasses import replace

import click

from ....keys.folders.context import NscContext
from ....keys.folders.store import Stores
from ....keys.workspace.profile import NscUrl, located
from ....keys.workspace.profile import profile as profiled
from ....keys.workspace.workspace import Workspace
from ..command import NscCommand, open_workspace
from ..output import STDOUT, output_file, write


@click.command(cls=NscCommand)
@click.argument("url", metavar="NSC-URL")
@output_file("-o", "--output-file")
def profile(url: str, where: str) -> None:
    """Generate a profile from `nsc://operator/account/user?names&keys&seeds`, as JSON for other tools."""
    address = NscUrl.parse(url)
    text = json.dumps(profiled(_located(open_workspace(), address), address), indent=2, ensure_ascii=False)
    write(text if where == STDOUT else f"{text}\n", where, "tool configuration", is_json=True)


def _located(workspace: Workspace, address: NscUrl) -> Workspace:
    """Return the workspace in the folders that the URL names."""
    stores, keys = located(address)
    context: NscContext = workspace.context
    if keys is not None:
        context = replace(context, directories=replace(context.directories, keys=keys.absolute()))
    if stores is not None:
        context = replace(context, stores=Stores(stores.absolute()), operator="", account="")
    return replace(workspace, context=context)
