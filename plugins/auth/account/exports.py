"""`pyjs auth account exports`: subjects that an account offers to others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from ....cli import output, prompt, render
from ....cli.command import FORCE, CommandGroup, CommandRow, LocalCommand
from ....cli.errors import NotFoundError, UsageError, close_matches
from ....cli.output import FLAG, NAME, NUMBER, TEXT, WORD, Column, Table
from ....keys import AccountClaims, Export
from ....keys.claims.export import Kind
from ....keys.workspace.exports import ExportChanges, add_export, delete_export, edit_export
from .. import folders
from ..outcome import checked
from ..page import Pairs, Section, listed, moment, optional, page, truth

EXPORTS = Table(
    "auth_exports",
    "Exports",
    (
        Column("name", "Name", NAME),
        Column("kind", "Kind", WORD, show=lambda record: str(record["kind"]).title()),
        Column("subject", "Subject", NAME),
        Column("activation_required", "Activation Required", FLAG),
        Column("advertised", "Advertised", FLAG),
        Column("token_position", "Token Position", NUMBER),
        Column("revocations", "Revocations", NUMBER),
        Column("description", "Description", TEXT, wide=True),
    ),
    key="subject",
    empty="No Exports defined",
    spare=("token_position", "revocations", "advertised", "activation_required"),
)
SUBJECT = click.argument("subject", required=False, default="")

exports = CommandGroup(
    name="exports",
    help="Manage exports: subjects that an account offers to others.",
    rows=[
        CommandRow("kv", "pyjs.plugins.auth.account.buckets:export", "Export a key-value bucket", hidden=True)
    ],
)


def kind_flag(what: str) -> Callable[..., Any]:
    """Return the flag that chooses between a stream and a service of one subject."""
    return click.option(
        "--kind",
        type=click.Choice(("stream", "service")),
        default=None,
        callback=lambda _context, _param, value: value or "",
        help=f"Which {what} is meant, if a stream and a service have the subject.",
    )


KIND = kind_flag("export")


@exports.command(cls=LocalCommand)
@output.showing("auth_export")
@click.argument("name")
@click.argument("subject")
@folders.ACCOUNT
@folders.OPERATOR
@click.option("--description", default="", help="A description for people.")
@click.option("--url", default="", help="Where to find more information.")
@click.option(
    "--token-position", type=click.IntRange(min=0), default=0, help="The token that is the importer's key."
)
@click.option("--advertise", is_flag=True, help="Advertise the export.")
@click.option("--service", is_flag=True, help="Export a service instead of a stream.")
async def add(name: str, subject: str, account: str, operator: str, **given: Any) -> None:
    """Export SUBJECT under a NAME. 'pyjs nsc add export --private' makes one that needs an activation."""
    here, owner = await folders.in_account(operator, account)
    export = Export(
        name=name,
        subject=subject,
        type="service" if given["service"] else "stream",
        description=given["description"],
        info_url=given["url"],
        account_token_position=given["token_position"],
        advertise=given["advertise"],
    )
    show(checked(add_export(here, export, account=owner)).export)


@exports.command(cls=LocalCommand)
@output.showing("auth_export")
@SUBJECT
@folders.ACCOUNT
@folders.OPERATOR
@KIND
async def info(subject: str, account: str, operator: str, kind: Kind) -> None:
    """Show an export."""
    here, owner = await folders.in_account(operator, account, noted=False)
    claims = here.store().account(owner)
    if not subject:
        known = sorted({export.subject for export in claims.nats.exports})
        subject = await prompt.pick("Export", known, argument="<SUBJECT>")
    if not account:
        prompt.note("", owner)
    show(_find(claims, subject, kind))


@exports.command(cls=LocalCommand)
@output.showing("auth_export")
@click.argument("subject")
@folders.ACCOUNT
@folders.OPERATOR
@click.option("--description", default=None, help="A description for people.")
@click.option("--url", default=None, help="Where to find more information.")
@click.option(
    "--token-position", type=click.IntRange(min=0), default=None, help="The token that is the importer's key."
)
@click.option("--advertise/--no-advertise", default=None, help="Advertise the export.")
@KIND
async def edit(subject: str, account: str, operator: str, kind: Kind, **given: Any) -> None:
    """Change the export of SUBJECT; what no flag gives stays as it is."""
    here, owner = await folders.in_account(operator, account)
    changes = ExportChanges(
        description=given["description"],
        info_url=given["url"],
        account_token_position=given["token_position"],
        advertise=given["advertise"],
    )
    if changes.empty:
        raise UsageError("nothing is to be changed", "'auth account exports edit --help' lists what can be")
    found = _find(here.store().account(owner), subject, kind)
    show(checked(edit_export(here, changes, subject=subject, kind=found.type, account=owner)).export)


@exports.command(cls=LocalCommand)
@output.listing(EXPORTS)
@folders.ACCOUNT
@folders.OPERATOR
async def ls(account: str, operator: str) -> None:
    """List the exports of an account."""
    here, owner = await folders.in_account(operator, account)
    found = sorted(here.store().account(owner).nats.exports, key=lambda export: export.subject)
    output.show(EXPORTS.of(map(_record, found), title=f"Exports for account {owner}"))


@exports.command("rm", cls=LocalCommand)
@click.argument("subject")
@folders.ACCOUNT
@folders.OPERATOR
@KIND
@FORCE
async def remove(subject: str, account: str, operator: str, kind: Kind, force: bool) -> None:
    """Remove the export of SUBJECT; its importers lose it."""
    here, owner = await folders.in_account(operator, account)
    found = _find(here.store().account(owner), subject, kind)
    if await prompt.sure(f"Really remove the {found.subject} Export", forced=force):
        checked(delete_export(here, subject=subject, kind=found.type, account=owner))
        render.show(f'Removing {found.type.title()} Export for subject "{subject}"')


exports.add_alias("add", "new", "a", "n")
exports.add_alias("info", "i", "show", "view")
exports.add_alias("edit", "update")
exports.add_alias("ls", "list")


def show(export: Export) -> None:
    """Show an export."""
    rows: Pairs = [
        ("Name", export.name),
        *optional("Description", export.description),
        ("Kind", export.type.title()),
        *optional("Info", export.info_url),
        ("Subject", export.subject),
        ("Activation Required", truth(export.token_req)),
        ("Account Token Position", export.account_token_position),
        ("Advertised", truth(export.advertise)),
    ]
    revoked = listed("Revoked", (f"{key} {moment(at)}" for key, at in sorted(export.revocations.items())))
    sections: list[Section] = [
        ("Configuration", rows),
        ("Revocations", revoked or [("", "No revocations found")]),
    ]
    text = page(f"Export info for {export.name} exporting {export.subject}", sections)
    output.show_page(export.document(), text, name=export.subject)


def _record(export: Export) -> dict[str, Any]:
    return {
        "name": export.name,
        "kind": export.type,
        "subject": export.subject,
        "activation_required": export.token_req,
        "advertised": export.advertise,
        "token_position": export.account_token_position,
        "revocations": len(export.revocations),
        "description": export.description,
    }


def _find(claims: AccountClaims, subject: str, kind: Kind) -> Export:
    """Return the export of a subject. Raises NotFoundError, UsageError if there are two."""
    found = [
        export for export in claims.nats.exports if export.subject == subject and kind in ("", export.type)
    ]
    if not found:
        near = close_matches(subject, {export.subject for export in claims.nats.exports})
        raise NotFoundError(f'subject "{subject}" is not exported', near)
    if len(found) > 1:
        raise UsageError(f'"{subject}" is exported as stream and as service', "say which one with --kind")
    return found[0]
