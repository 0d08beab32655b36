"""`nsc generate config`: the configuration that a server of this operator needs."""

from __future__ import annotations

from pathlib import Path

import click

from ....keys import FolderError, Workspace
from ....keys.workspace import configuration
from ....keys.workspace.configuration.nkeys import nkeys
from ....keys.workspace.report import place
from .. import completion
from ..command import NscCommand, finish, open_workspace, run, switch
from ..output import STDOUT, write

_KINDS = {"mem": configuration.memory, "nats": configuration.full, "cache": configuration.cache}


@click.command(cls=NscCommand)
@switch("--mem-resolver", "mem", text="All accounts in the configuration itself.")
@switch("--nats-resolver", "nats", text="Accounts in a folder, pushed and shared by servers.")
@switch("--nats-resolver-cache", "cache", text="Accounts asked for and kept for a while.")
@switch("--nkey", "plain", text="Accounts and users by public key, without tokens.")
@click.option("--config-file", "where", default=STDOUT, metavar="FILE", help="Output file, '--' is stdout.")
@click.option(
    "--dir", "folder", default="", metavar="DIR", help="Output directory; with --mem-resolver only."
)
@switch("-F", "--force", text="Overwrite what exists.")
@click.option(
    "--sys-account",
    "system",
    default="",
    help="System account, by name or public key.",
    shell_complete=completion.accounts,
)
def config(
    mem: bool, nats: bool, cache: bool, plain: bool, where: str, folder: str, force: bool, system: str
) -> None:
    """Generate the configuration of a server: the operator, its resolver and what is preloaded."""
    kinds = [kind for kind, given in (("mem", mem), ("nats", nats), ("cache", cache)) if given]
    if not (kinds or plain or folder):
        raise click.UsageError("specify a config type option: --mem-resolver, --nats-resolver or another")
    if len(kinds) + plain > 1:
        raise click.UsageError("can only generate one config at a time")
    if folder and where != STDOUT:
        raise click.UsageError("--dir is exclusive of --config-file")
    if folder and (plain or kinds not in ([], ["mem"])):
        raise click.UsageError("--dir is only valid with --mem-resolver")
    if plain and system:
        raise click.UsageError("nkey configurations don't support system account")
    workspace = open_workspace()
    if folder:
        written = configuration.write_folder(_config_input(workspace, system), Path(folder), force=force)
        finish(written)
        _success(written.path)
        return
    text = nkeys(workspace) if plain else _KINDS[kinds[0]](_config_input(workspace, system))
    path = Path(where).expanduser()
    if where != STDOUT and path.exists() and not force:
        raise FolderError(f"{place(path)} already exists")
    write(text, where, "server configuration")
    if where != STDOUT:
        _success(path)


def _config_input(workspace: Workspace, system: str) -> configuration.ConfigInput:
    return configuration.ConfigInput.read(workspace, system)


def _success(path: Path) -> None:
    if not run().json:
        click.echo(f"Success!! - generated {place(path)}")
