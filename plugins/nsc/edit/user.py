"""`nsc edit user`."""

from __future__ import annotations

import click

from ....keys.workspace.edits import Dates, Tags
from ....keys.workspace.permissions import UserEdits
from ....keys.workspace.users import edit_user
from .. import completion, current_entities, prompts, questions
from ..command import NscCommand, finish, open_workspace, run
from ..permissions import date_options, tag_options, user_options


@click.command(cls=NscCommand)
@click.argument("argument", metavar="[NAME]", default="", shell_complete=completion.users)
@click.option("-n", "--name", default="", metavar="NAME", help="user name")
@prompts.ACCOUNT
@date_options()
@tag_options()
@user_options()
async def user(argument: str, name: str, account: str, dates: Dates, tags: Tags, edits: UserEdits) -> None:
    """Edit a user, and write its credentials anew."""
    here = open_workspace()
    name = name or argument
    if run().interactive:
        account = await current_entities.account(here, account)
        name = await current_entities.user(here, account, name)
        here = await questions.user_signer(here, account, "select the key to sign the user")
        held = here.store().user(account, name)
        edits = await questions.user_edits(edits, held.nats)
        dates = await questions.dates(dates, held)
        tags = await questions.tags(tags, held.tags)
    finish(edit_user(here, name, edits, account=account, dates=dates, tags=tags))
