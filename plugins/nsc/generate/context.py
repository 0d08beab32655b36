"""`nsc generate context`: a context of `nats`, which pyjs uses too."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import click

from ....cli import context as contexts
from ....cli import prompt
from ....keys import FolderError, NotFoundError, OperationReport, WorkspaceError, files
from ....keys.workspace.report import place
from .. import completion, current_entities
from ..command import NscCommand, finish, open_workspace, run


@dataclass(frozen=True, slots=True)
class Made:
    """A context that was written."""

    report: OperationReport
    path: Path


@click.command(cls=NscCommand)
@click.option(
    "-u", "--user", default="", help="User, by name or public key.", shell_complete=completion.users
)
@click.option("-a", "--account", default="", help="Account of the user.", shell_complete=completion.accounts)
@click.option("--context", "name", default="", help="Name of the context.")
async def context(user: str, account: str, name: str) -> None:
    """Generate a context with a user's credentials and the operator's first service URL."""
    if run().interactive:
        name = await prompt.text("context name", flag="--context", default=name, required=True)
    if not name:
        raise WorkspaceError("context name is required: give it with --context")
    path = contexts.path_of(name.removesuffix(".json"))
    workspace = open_workspace()
    owner = await current_entities.account(workspace, account)
    user_name = await current_entities.user(workspace, owner, user)
    store = workspace.store()
    creds = workspace.keystore.credentials_path(store.name, owner, user_name)
    if not creds.is_file():
        raise NotFoundError(f"creds file {place(creds)} doesn't exist - `nsc generate creds -o` writes one")
    if path.exists():
        raise FolderError(f"{path} already exists")
    urls = store.operator().nats.operator_service_urls
    fields = {
        "nsc": f"nsc://{store.name}/{owner}/{user_name}",
        "url": urls[0] if urls else "",
        "creds": str(creds),
    }
    files.write(
        path, json.dumps({k: v for k, v in fields.items() if v}, separators=(",", ":"), ensure_ascii=False)
    )
    report = OperationReport()
    report.ok(f"wrote nats cli context file to {place(path)}")
    finish(Made(report, path))
