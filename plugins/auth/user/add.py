"""`pyjs auth user add` and `edit`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ....cli import output, prompt
from ....cli.command import LocalCommand
from ....cli.errors import RefusedError, UsageError
from ....cli.param import SIZE
from ....keys.workspace.edits import Tags
from ....keys.workspace.permissions import UserEdits
from ....keys.workspace.signing import user_signer
from ....keys.workspace.users import add_user, edit_user
from .. import folders
from ..account.keys import permission_flags, permissions
from ..account.settings import COUNT, bytes_or_unlimited, count_or_unlimited
from ..outcome import checked
from ..page import LEGACY
from . import page
from .credential import CREDENTIAL, must_not_exist, write

PAYLOAD = 1024 * 1024


def _limits(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flags for what a user may do to a command."""
    for option in (
        click.option("--tags", multiple=True, help="Tags to add."),
        click.option(
            "--subscriptions", type=COUNT, default=None, help="Maximum subscriptions (-1: unlimited)."
        ),
        permission_flags,
        click.option(
            "--payload", type=SIZE, default=None, help="Maximum bytes of a message (-1: unlimited)."
        ),
        click.option("--locale", default=None, help="The time zone of the user's hours."),
        click.option("--data", type=SIZE, default=None, help="Maximum bytes of data (-1: unlimited)."),
        click.option("--bearer/--no-bearer", default=None, help="Let the user log in by its token alone."),
    ):
        function = option(function)
    return function


@click.command(cls=LocalCommand)
@output.showing("auth_user", legacy=LEGACY)
@click.argument("name")
@folders.ACCOUNT
@click.option(
    "--key", default="", help="Key that signs: a role, or a signing key's public key, seed or file."
)
@folders.OPERATOR
@_limits
@click.option("-f", "--force", is_flag=True, help="Overwrite the file of --credential.")
@CREDENTIAL
@click.option("--defaults", is_flag=True, help="Ask nothing.")
async def add(
    name: str,
    account: str,
    key: str,
    operator: str,
    force: bool,
    credential: Path | None,
    defaults: bool,
    **given: Any,
) -> None:
    """Make a user; with a signing key's role as --key it gets the permissions and limits of the role."""
    here, owner = await folders.in_account(operator, account)
    here = folders.signing_with(here, key)
    must_not_exist(credential, force=force)
    store = here.store()
    if name in store.users(owner):
        raise RefusedError(f"user {name} already exists", f"'auth user edit {name} {owner}' changes it")
    claims = store.account(owner)
    if claims.scope(user_signer(here, claims).public_key) is None:
        await _ask(given, defaults=defaults)
    checked(add_user(here, name, account=owner, edits=_edits(given), tags=given["tags"]))
    if credential is not None:
        write(here, owner, name, credential)
    page.show(here, owner, name)


async def _ask(given: dict[str, Any], *, defaults: bool) -> None:
    """Ask for the limits that no flag gives; with `defaults` a message may have 1 MiB."""
    if defaults:
        if given["payload"] is None:
            given["payload"] = PAYLOAD
        return
    if given["payload"] is None:
        given["payload"] = await prompt.text(
            "Maximum Payload",
            flag="--payload",
            default="-1",
            explain="the maximum message size the user can send",
            check=bytes_or_unlimited,
        )
    if given["subscriptions"] is None:
        given["subscriptions"] = await prompt.text(
            "Maximum Subscriptions",
            flag="--subscriptions",
            default="-1",
            explain="the maximum number of subscriptions the user can make",
            check=count_or_unlimited,
        )


def _edits(given: dict[str, Any], *, replace: bool = False) -> UserEdits:
    return UserEdits(
        permissions=permissions(given, replace=replace),
        payload=given["payload"],
        data=given["data"],
        subs=given["subscriptions"],
        bearer=given["bearer"],
        locale=given["locale"],
    )


@click.command(cls=LocalCommand)
@output.showing("auth_user", legacy=LEGACY)
@folders.USER
@folders.ACCOUNT
@folders.OPERATOR
@_limits
@click.option("--no-tags", multiple=True, help="Tags to remove.")
@CREDENTIAL
async def edit(name: str, account: str, operator: str, credential: Path | None, **given: Any) -> None:
    """Change a user; what no flag gives stays as it is. New subjects replace a whole list, '' empties it."""
    here, owner, name = await folders.in_user(operator, account, name)
    edits, tags = _edits(given, replace=True), Tags(add=given["tags"], remove=given["no_tags"])
    if edits.given or tags.given:
        checked(edit_user(here, name, edits, account=owner, tags=tags))
    elif credential is None:
        raise UsageError("nothing is to be changed", "'auth user edit --help' lists what can be")
    if credential is not None:
        write(here, owner, name, credential)
    page.show(here, owner, name)
