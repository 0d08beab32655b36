"""`nsc describe jwt`: works without any store."""

from __future__ import annotations

import click

from ....cli import prompt
from ....keys import FolderError, Workspace, WorkspaceError, decode
from ....keys.workspace.source import load_token
from .. import pages
from ..command import NscLocalCommand, open_workspace, run
from .token_output import TokenOutput, shown


@click.command(cls=NscLocalCommand)
@click.option("-f", "--file", default="", metavar="FILE|URL", help="File or URL of a token or credentials.")
@shown
async def jwt(file: str, how: TokenOutput) -> None:
    """Describe the token in a file or at a URL; credentials too, their seed is not shown."""
    if run().interactive:
        file = await prompt.text("token file or url", flag="--file", default=file)
    if not file:
        raise WorkspaceError("file is required: name it with --file")
    token = load_token(file)
    how.show(token, lambda: pages.page(decode(token, v1=True), how.names(_here())))


def _here() -> Workspace | None:
    """Return the workspace, if its folders can be read."""
    try:
        return open_workspace(layout=False)
    except FolderError:
        return None
