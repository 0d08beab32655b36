"""`pyjs export`: what servers have, as documents."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...cli import output, prompt
from ...cli.command import FORCE, Command
from ...cli.connection import connect
from ...cli.errors import NotFoundError, UsageError, close_matches
from ...cli.output import NAME, WORD, Column, Table
from .session import apis, explained

DOCUMENTS = Table(
    "documents",
    "Documents",
    (Column("kind", "Kind", WORD), Column("name", "Name", NAME), Column("file", "File", NAME)),
    empty="There is nothing to export",
)
if TYPE_CHECKING:
    from ...cli.profile import Profile
    from ...provision.exporting import Exported

MOST_LETTERS = 200  # bytes of a name in the name of a file
DIGITS = 12  # of a hash in it


@click.command(cls=Command)
@output.listing(DOCUMENTS)
@click.argument("names", nargs=-1)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
@click.option("-a", "--all", "everything", is_flag=True, help="All streams and buckets.")
@click.option(
    "--format",
    "form",
    type=click.Choice(("yaml", "json")),
    default="yaml",
    show_default=True,
    help="How documents are written.",
)
@click.option(
    "--domain",
    default="",
    help="The JetStream domain to read, which the documents then name. The default is that of the context.",
)
@click.option("--accounts", is_flag=True, help="Accounts and users in the folders of nsc instead.")
@FORCE
async def export(
    names: tuple[str, ...],
    folder: Path,
    everything: bool,
    form: str,
    domain: str,
    accounts: bool,
    force: bool,
) -> None:
    """Write streams, their durable consumers, and buckets as documents for `pyjs apply`.

    Each stream or bucket is a file, which says only what differs from the server's defaults.
    """
    if everything == bool(names):
        raise UsageError("either --all or the names of streams and buckets are needed")
    if accounts:
        found = _accounts(None if everything else names)
    else:
        found = await _streams(None if everything else names, domain)
    texts: dict[Path, str] = {}
    for each in found:
        texts[folder / _file_name(each.kind, each.name, form)] = _text(each.document, form) + "\n"
    _keep_domains_apart(texts)
    changed = _changed(texts)
    if changed and not await prompt.sure(f"Really overwrite {changed} documents in {folder}", forced=force):
        return
    _write(folder, texts)
    records = [
        {"kind": each.kind, "name": each.name, "file": str(file)}
        for each, file in zip(found, texts, strict=True)
    ]
    output.show(DOCUMENTS.of(records))


def _text(document: dict[str, Any], form: str) -> str:
    from ...cli.output import yaml

    return yaml.dump(document) if form == "yaml" else json.dumps(document, indent=2)


async def _streams(names: tuple[str, ...] | None, domain: str) -> list[Exported]:
    from ...provision import exporting, servers

    async with connect() as connection:
        domain = domain or _asked_for(connection.profile)
        with explained():
            facts = await servers.read_domain(apis(connection)(domain), None)
    try:
        with explained():
            return exporting.export(facts, names, domain)
    except KeyError as error:
        name = str(error.args[0])
        near = close_matches(name, facts.streams)
        raise NotFoundError(f"there is no stream or bucket {name}", near) from None


def _asked_for(profile: Profile) -> str:
    """Return the domain that the context or the line has; empty where a prefix of the API replaces it."""
    return profile.domain if profile.api_prefix == f"$JS.{profile.domain}.API" else ""


def _accounts(names: tuple[str, ...] | None) -> list[Exported]:
    from ...keys import NscDirectories, Workspace
    from ...provision.exporting import Exported
    from ...provision.identity import planner

    with explained():
        workspace = Workspace.open(NscDirectories.locate(os.environ, Path.cwd()))
        operator = workspace.store().name
        return [
            Exported("account", name, {"operator": operator, "accounts": {name: section}})
            for name, section in planner.export(workspace, names)
        ]


def _file_name(kind: str, name: str, form: str) -> str:
    """Return the name of a document's file; what is too long or not printable is told apart by its hash."""
    plain = "".join(each if each.isprintable() else "_" for each in name)
    if plain != name or len(name.encode()) > MOST_LETTERS:
        short = plain.encode()[: MOST_LETTERS - DIGITS].decode(errors="ignore")
        plain = f"{short}-{hashlib.sha256(name.encode()).hexdigest()[:DIGITS]}"
    return f"{kind}-{plain}.{form}"


def _keep_domains_apart(texts: dict[Path, str]) -> None:
    """Raise UsageError for a document that would take the place of another domain's."""
    from ...documents.problem import DocumentError
    from ...provision import files

    for file, text in texts.items():
        try:
            there = files.parse(files.read(file), str(file)).domain
        except (DocumentError, OSError):
            continue
        domain = files.parse(text, str(file)).domain
        if there and domain and there != domain:
            raise UsageError(
                f"{file} is of the domain {there}, not of {domain}",
                "export each domain to a folder of its own",
            )


def _changed(texts: dict[Path, str]) -> int:
    """Return how many files exist with other texts."""
    return sum(file.exists() and file.read_text(encoding="utf-8") != text for file, text in texts.items())


def _write(folder: Path, texts: dict[Path, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for file, text in texts.items():
        file.write_text(text, encoding="utf-8")
