"""`nsc edit user`."""

from __future__ import annotations

import click

from ....keys.workspace.edits import Dates, Tags
from ....keys.workspace.permissions import UserEdits
from ....keys.workspace.users import edit_user
from .. import completion, current_entities, prompts, questions
from ..command import NscLocalCommand, finish, open_workspace, run
from ..permissions import date_options, tag_options, user_options


@click.command(cls=NscLocalCommand)
@click.argument("argument", metavar="[NAME]", default="", shell_complete=completion.users)
@click.option("-n", "--name", default="", metavar="NAME", help="user name")
@prompts.ACCOUNT
@date_options()
@tag_options()
@user_options()
async def user(argument: str, name: str, account: str, dates: Dates, tags: Tags, edits: UserEdits) -> None:
    """Edit a user, and write its credentials again."""
    workspace = open_workspace()
    name = name or argument
    if run().interactive:
        account = await current_entities.account(workspace, account)
        name = await current_entities.user(workspace, account, name)
        workspace = await questions.user_signer(workspace, account, "select the key to sign the user")
        present = workspace.store().user(account, name)
        edits = await questions.user_edits(edits, present.nats)
        dates = await questions.dates(dates, present)
        tags = await questions.tags(tags, present.tags)
    finish(edit_user(workspace, name, edits, account=account, dates=dates, tags=tags))
