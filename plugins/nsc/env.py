"""`nsc env`."""

from __future__ import annotations

import os
from pathlib import Path

import click

from ...cli import render
from ...cli.output import terminal
from ...keys.errors import WorkspaceError
from ...keys.folders.locations import CONFIG_VARIABLE, CWD_ONLY, KEYS_VARIABLE, NO_GIT_IGNORE, NscDirectories
from ...keys.workspace.report import short
from ...keys.workspace.workspace import Workspace
from . import completion
from .command import NscCommand, open_workspace, run
from .table import TextTable


@click.command(cls=NscCommand)
@click.option("-s", "--store", default="", metavar="DIR", help="set store directory")
@click.option(
    "-o",
    "--operator",
    default="",
    metavar="NAME",
    help="set operator name",
    shell_complete=completion.operators,
)
@click.option(
    "-a", "--account", default="", metavar="NAME", help="set account name", shell_complete=completion.accounts
)
def env(store: str, operator: str, account: str) -> None:
    """Show where everything is and what is current, or change it."""
    workspace = open_workspace(layout=False)
    if store or operator or account:
        if workspace.context.directories.cwd_only:
            raise WorkspaceError(f"${CWD_ONLY} is set - change your cwd to change context")
        if store:
            workspace = workspace.with_root(Path(store).expanduser())
        if operator:
            workspace = workspace.with_operator(operator)
        if account:
            workspace = workspace.with_account(account)
        workspace.save()
    if run().json:
        render.show_json(_document(workspace))
    else:
        render.show(_table(workspace))


def _document(workspace: Workspace) -> dict[str, object]:
    context = workspace.context
    return {
        "config_dir": str(context.directories.config),
        "keys_dir": str(context.directories.keys),
        "default_stores_dir": str(context.directories.default_stores),
        "stores_dir": str(context.stores.root),
        "operator": context.operator,
        "account": context.account,
        "from_cwd": context.from_cwd,
    }


def _table(workspace: Workspace) -> str:
    context = workspace.context
    table = TextTable("NSC Environment", ("Setting", "Set", "Effective Value"))
    for variable, words in (
        ("XDG_CONFIG_HOME", os.environ.get("XDG_CONFIG_HOME", "")),
        ("XDG_DATA_HOME", os.environ.get("XDG_DATA_HOME", "")),
        (CWD_ONLY, "If set, default operator/account from cwd only"),
        (NO_GIT_IGNORE, "If set, no .gitignore files written"),
        (f"{KEYS_VARIABLE} (deprecated)", short(context.directories.keys)),
        (f"{CONFIG_VARIABLE} (deprecated)", short(context.directories.config)),
        ("NATS_CA", "If set, root CAs in the referenced file will be used for nats connections"),
        ("", "If not set, will default to the system trust store"),
        ("NATS_KEY", "If set, the tls key in the referenced file will be used for nats connections"),
        ("NATS_CERT", "If set, the tls cert in the referenced file will be used for nats connections"),
    ):
        given = "Yes" if variable.partition(" ")[0] in os.environ else "No"
        table.row(f"${variable}" if variable else "", given if variable else "", words)
    table.separator()
    nowhere = context.directories.cwd_only and not context.from_cwd
    authorities = os.environ.get("NATS_CA", "").strip()
    for label, value in (
        ("From CWD", "Yes" if context.from_cwd else "No"),
        (
            "Default Stores Dir",
            short(NscDirectories.locate(os.environ, context.directories.cwd).default_stores),
        ),
        ("Current Store Dir", "Not Set" if nowhere else short(context.stores.root)),
        ("Current Operator", context.operator),
        ("Current Account", context.account),
        ("Root CAs to trust", f"File: {authorities}" if authorities else "Default: System Trust Store"),
    ):
        table.row(label, "", value)
    return table.render(terminal.width())
