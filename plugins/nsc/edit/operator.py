"""`nsc edit operator`."""

from __future__ import annotations

import click

from ....keys.workspace.edits import Dates, SigningKeys, Tags
from ....keys.workspace.operators import OperatorEdits, edit_operator
from .. import questions
from ..command import NscLocalCommand, finish, listed, open_workspace, run, switch
from ..permissions import date_options, signing_key_options, tag_options

_URLS = "where clients reach the NATS service (nats/tls/ws/wss) - comma separated list or several times"


@click.command(cls=NscLocalCommand)
@signing_key_options()
@tag_options()
@click.option(
    "-u", "--account-jwt-server-url", "server", default=None, metavar="URL", help="set account jwt server url"
)
@click.option(
    "--system-account", default=None, metavar="ACCOUNT", help="set system account by name or public key"
)
@listed("-n", "--service-url", text=f"add an operator service url, {_URLS}")
@listed("--rm-service-url", text="remove an operator service url")
@switch(
    "--require-signing-keys",
    "strict",
    default=None,
    text="require accounts/user to be signed with a signing key",
)
@switch("--rm-account-jwt-server-url", "rm_server", text="clear account server url")
@date_options()
async def operator(
    signing_keys: SigningKeys,
    tags: Tags,
    server: str | None,
    system_account: str | None,
    service_url: tuple[str, ...],
    rm_service_url: tuple[str, ...],
    strict: bool | None,
    rm_server: bool,
    dates: Dates,
) -> None:
    """Edit the current operator."""
    workspace = open_workspace()
    edits = OperatorEdits(
        dates,
        tags,
        signing_keys,
        "" if rm_server else server,
        system_account,
        service_url,
        rm_service_url,
        strict,
    )
    if run().interactive:
        edits, workspace = await questions.operator_edits(workspace, edits)
    finish(edit_operator(workspace, edits))
