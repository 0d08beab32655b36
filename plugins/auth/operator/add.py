"""`pyjs auth operator add` and `edit`."""

from __future__ import annotations

import click

from ....cli import output, prompt
from ....cli.command import LocalCommand
from ....cli.errors import RefusedError, UsageError
from ....keys.workspace.edits import Tags
from ....keys.workspace.operators import OperatorEdits, add_operator, edit_operator
from .. import folders
from ..outcome import checked
from ..page import LEGACY
from . import page
from .info import NAME_ARGUMENT

SYSTEM_ACCOUNT = "SYSTEM"
SERVICE = click.option("--service", multiple=True, metavar="URL", help="URLs for the operator's services.")
ACCOUNT_SERVER = click.option(
    "--account-server", default=None, metavar="URL", help="URL to push accounts to."
)
TAGS = click.option("--tags", multiple=True, help="Tags to add.")


@click.command(cls=LocalCommand)
@output.showing("auth_operator", legacy=LEGACY)
@NAME_ARGUMENT
@SERVICE
@ACCOUNT_SERVER
@click.option("--signing-key/--no-signing-key", default=True, help="Make a signing key, too: the default.")
@TAGS
async def add(
    name: str,
    service: tuple[str, ...],
    account_server: str | None,
    signing_key: bool,
    tags: tuple[str, ...],
) -> None:
    """Make an operator with the system account SYSTEM, and make it the current one."""
    explain = "a unique name for the operator being added"
    name = name or await prompt.text("Operator Name", flag="<NAME>", required=True, explain=explain)
    here = folders.opened()
    if name in here.stores.names():
        raise RefusedError(f"operator {name} already exists", f"'auth operator edit {name}' changes it")
    edits = OperatorEdits(tags=Tags(add=tags), service_urls=service, account_server_url=account_server)
    made = add_operator(here, name, signing_key=signing_key, plain_system=SYSTEM_ACCOUNT, edits=edits)
    page.show(made.workspace)


@click.command(cls=LocalCommand)
@output.showing("auth_operator", legacy=LEGACY)
@NAME_ARGUMENT
@ACCOUNT_SERVER
@SERVICE
@TAGS
@click.option("--no-tags", multiple=True, help="Tags to remove.")
async def edit(
    name: str,
    account_server: str | None,
    service: tuple[str, ...],
    tags: tuple[str, ...],
    no_tags: tuple[str, ...],
) -> None:
    """Change an operator; --service replaces all its service URLs, and '' removes a URL."""
    here = await folders.in_operator(name, argument="<NAME>")
    urls = [url for url in service if url]
    before = here.operator().nats.operator_service_urls
    edits = OperatorEdits(
        tags=Tags(add=tags, remove=no_tags),
        account_server_url=account_server,
        service_urls=tuple(url for url in urls if url.lower() not in before),
        rm_service_urls=tuple(url for url in before if url not in map(str.lower, urls)) if service else (),
    )
    if edits.given:
        checked(edit_operator(here, edits))
    elif not service:  # which may name the URLs that are there
        raise UsageError("nothing is to be changed", "'auth operator edit --help' lists what can be")
    page.show(here)
