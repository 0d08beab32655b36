"""`pyjs auth account imports`: subjects that an account uses from another account."""

from __future__ import annotations

from typing import Any

import click

from ....cli import output, prompt, render
from ....cli.command import FORCE, CommandGroup, CommandRow, LocalCommand
from ....cli.errors import UsageError
from ....cli.output import FLAG, NAME, WORD, Column, Table
from ....keys import Import, KeyRole, Workspace, is_public
from ....keys.claims.export import Kind
from ....keys.workspace.imports import (
    ImportChanges,
    add_import,
    delete_import,
    edit_import,
    find_local,
)
from ....keys.workspace.resolve import account_label
from .. import completion, folders
from ..outcome import checked
from ..page import Pairs, page, truth
from .exports import SUBJECT, kind_flag

IMPORTS = Table(
    "auth_imports",
    "Imports",
    (
        Column("name", "Name", NAME),
        Column("kind", "Kind", WORD, show=lambda record: str(record["kind"]).title()),
        Column("source", "Source", NAME),
        Column("local_subject", "Local Subject", NAME),
        Column("subject", "Remote Subject", NAME),
        Column("allow_trace", "Allows Tracing", FLAG),
        Column("share", "Sharing Connection Info", FLAG),
        Column("account", "Source Account", NAME, wide=True),
    ),
    key="local_subject",
    empty="No Imports defined",
    spare=("share", "allow_trace", "name", "kind"),
)
KIND = kind_flag("import")

imports = CommandGroup(
    name="imports",
    help="Manage imports: subjects that an account uses from another account.",
    rows=[
        CommandRow(
            "kv", "pyjs.plugins.auth.account.buckets:import_", "Import a key-value bucket", hidden=True
        )
    ],
)


@imports.command(cls=LocalCommand)
@output.showing("auth_import")
@click.argument("name")
@click.argument("subject")
@folders.ACCOUNT
@click.option(
    "--source",
    default="",
    metavar="ACCOUNT",
    help="The account that exports it, by name or public key.",
    shell_complete=completion.accounts,
)
@click.option("--local", default="", metavar="SUBJECT", help="The subject here; else the same one.")
@click.option("--share", is_flag=True, help="Let the exporter of a service see who asks.")
@click.option("--traceable", is_flag=True, help="Let messages of a stream be traced across the import.")
@click.option("--service", is_flag=True, help="Import a service instead of a stream.")
@folders.OPERATOR
async def add(name: str, subject: str, account: str, operator: str, **given: Any) -> None:
    """Import SUBJECT from another account under a NAME."""
    here, owner = await folders.in_account(operator, account)
    source = given["source"]
    if not is_public(source, KeyRole.ACCOUNT):  # which may be of an account that is not stored here
        source = await folders.account_of(here, source, argument="--source", title="Source Account")
    item = Import(
        name=name,
        subject=subject,
        account=source,
        type="service" if given["service"] else "stream",
        local_subject=given["local"] or subject,
        share=given["share"],
        allow_trace=given["traceable"],
    )
    made = checked(add_import(here, item, account=owner))
    show(here, made.item)


@imports.command(cls=LocalCommand)
@output.showing("auth_import")
@SUBJECT
@folders.ACCOUNT
@folders.OPERATOR
@KIND
async def info(subject: str, account: str, operator: str, kind: Kind) -> None:
    """Show an import, by its subject in the account that imports."""
    here, owner = await folders.in_account(operator, account, noted=False)
    claims = here.store().account(owner)
    if not subject:
        known = sorted({_local(item) for item in claims.nats.imports})
        subject = await prompt.pick("Import", known, argument="<SUBJECT>")
    if not account:
        prompt.note("", owner)
    show(here, find_local(claims, subject, kind))


@imports.command(cls=LocalCommand)
@output.showing("auth_import")
@click.argument("subject")
@folders.ACCOUNT
@click.option("--local", default=None, metavar="SUBJECT", help="The new subject here.")
@click.option("--share/--no-share", default=None, help="Let the exporter of a service see who asks.")
@click.option("--traceable/--no-traceable", default=None, help="Let messages of a stream be traced.")
@folders.OPERATOR
@KIND
async def edit(subject: str, account: str, operator: str, kind: Kind, **given: Any) -> None:
    """Change an import, by its subject in the account that imports; what no flag gives stays as it is."""
    here, owner = await folders.in_account(operator, account)
    changes = ImportChanges(given["local"], given["share"], given["traceable"])
    if changes.empty:
        raise UsageError("nothing is to be changed", "'auth account imports edit --help' lists what can be")
    item = find_local(here.store().account(owner), subject, kind)
    made = edit_import(
        here, changes, subject=item.subject, exporter=item.account, kind=item.type, account=owner
    )
    show(here, checked(made).item)


@imports.command(cls=LocalCommand)
@output.listing(IMPORTS)
@folders.ACCOUNT
@click.argument("operator", required=False, default="", shell_complete=completion.operators)
async def ls(account: str, operator: str) -> None:
    """List the imports of an account."""
    here, owner = await folders.in_account(operator, account)
    found = sorted(here.store().account(owner).nats.imports, key=lambda item: item.subject)
    records = (_record(here, item) for item in found)
    output.show(IMPORTS.of(records, title=f"Imports for account {owner}"))


@imports.command("rm", cls=LocalCommand)
@click.argument("subject")
@folders.ACCOUNT
@folders.OPERATOR
@KIND
@FORCE
async def remove(subject: str, account: str, operator: str, kind: Kind, force: bool) -> None:
    """Remove an import, by its subject in the account that imports."""
    here, owner = await folders.in_account(operator, account)
    item = find_local(here.store().account(owner), subject, kind)
    local = _local(item)
    if await prompt.sure(f"Really remove the {local} import", forced=force):
        checked(
            delete_import(here, subject=item.subject, exporter=item.account, kind=item.type, account=owner)
        )
        render.show(
            f'Removing {item.type} Import for local subject "{local}" imported from Account "{item.account}"'
        )


imports.add_alias("add", "new", "a", "n")
imports.add_alias("info", "i", "show", "view")
imports.add_alias("edit", "update")
imports.add_alias("ls", "list")


def show(here: Workspace, item: Import) -> None:
    """Show an import."""
    label, local = account_label(here, item.account), _local(item)
    rows: Pairs = [
        ("Name", item.name),
        ("From Account", f"{label} ({item.account})" if label else item.account),
        ("Local Subject", local),
        ("Kind", item.type.title()),
        ("Remote Subject", item.remote),
        ("Sharing Connection Info", truth(item.share)),
    ]
    if item.type == "stream":
        rows.append(("Allows Message Tracing", truth(item.allow_trace)))
    if item.token:
        rows.append(("Activation", "present"))
    text = page(f'Import info for import "{item.name}" importing "{local}"', [("Configuration", rows)])
    output.show_page(item.document(), text, name=local)


def _local(item: Import) -> str:
    """Return the local subject as it was written."""
    return item.local_subject or item.local


def _record(here: Workspace, item: Import) -> dict[str, Any]:
    return {
        "name": item.name,
        "kind": item.type,
        "source": account_label(here, item.account) or item.account,
        "local_subject": _local(item),
        "subject": item.remote,
        "allow_trace": item.allow_trace,
        "share": item.share,
        "account": item.account,
    }
