"""`nsc add operator`."""

from __future__ import annotations

import os

import click

from ....cli import prompt
from ....keys.errors import WorkspaceError
from ....keys.workspace.edits import Dates
from ....keys.workspace.operators import add_operator, import_operator
from .. import prompts, questions
from ..command import NscLocalCommand, finish, open_workspace, run, switch
from ..permissions import date_options


@click.command(cls=NscLocalCommand)
@click.argument("argument", metavar="[NAME]", default="")
@click.option("-n", "--name", default="", metavar="NAME", help="operator name; * makes one up")
@click.option(
    "-u",
    "--url",
    default="",
    metavar="SOURCE",
    help="import from a file, an http URL, or a well-known operator",
)
@switch("--generate-signing-key", text="generate a signing key with the operator")
@switch(
    "-s", "--sys", "system", text="generate a system account, signed with the signing key if there is one"
)
@switch("--force", text="on import, overwrite the operator that is there")
@date_options()
async def operator(
    argument: str, name: str, url: str, generate_signing_key: bool, system: bool, force: bool, dates: Dates
) -> None:
    """Add an operator, which then is the current one; or import another party's with --url."""
    workspace = open_workspace()
    name = name or argument
    if run().interactive:
        if await prompt.confirm("import operator from a JWT", default=True):
            url = await prompt.text("path or url for operator jwt", flag="--url", default=url, required=True)
            system = False
        else:
            name = await questions.name("operator name", name)
            dates = await questions.dates(dates)
            system = await prompts.yes("Generate system account?", "--sys", True)
            generate_signing_key = await prompts.yes("Generate signing key?", "--generate-signing-key", True)
            if not run().private_key:
                workspace = await questions.identity(workspace)
    if url:
        if system:
            raise WorkspaceError("importing an operator is not compatible with system account generation")
        finish(import_operator(workspace, url, name=name, force=force, environment=os.environ))
        return
    if force:
        raise WorkspaceError("force only works with -u")
    finish(add_operator(workspace, name, system=system, signing_key=generate_signing_key, dates=dates))
