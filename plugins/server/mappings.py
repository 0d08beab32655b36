"""`pyjs server mappings`: applies a subject mapping to subjects, without a server."""

from __future__ import annotations

import random

import click

from ...cli import output, prompt, render
from ...cli.command import Command
from ...cli.errors import CliError, NotFoundError, UsageError
from ...cli.output import NAME, Column, Table
from ...protocol.subject import has_wildcard, is_valid
from ...protocol.transform import SubjectTransform, TransformError

MAPPED = Table(
    "mapped_subjects",
    "Mapped Subjects",
    (
        Column("source", "Source", NAME),
        Column("destination", "Destination", NAME),
        Column("subject", "Subject", NAME),
        Column("mapped", "Mapped", NAME),
    ),
    key="mapped",
)


@click.command(cls=Command)
@output.listing(MAPPED)
@click.argument("source", required=False, default="")
@click.argument("dest", required=False, default="")
@click.argument("subject", required=False, default="")
async def mappings(source: str, dest: str, subject: str) -> None:
    """Try a subject mapping: SOURCE is a pattern, DEST what becomes of it, as in `{{wildcard(1)}}`."""
    source = source or await prompt.text("Source subject pattern", flag="<SOURCE>")
    dest = dest or await prompt.text("Destination subject pattern", flag="<DEST>")
    try:
        transform = SubjectTransform(source, dest, random_below=random.SystemRandom().randrange)
    except TransformError as error:
        raise UsageError(str(error)) from None
    if subject:
        found = _mapped(transform, subject)
        record = {"source": source, "destination": dest, "subject": subject, "mapped": found}
        output.show(MAPPED.of([record]), text="" if output.is_asked_for() else found)
        return
    if not prompt.interactive() or output.is_asked_for():
        raise prompt.needed("Subject", "<SUBJECT>")
    render.show("Enter subjects to test, empty subject terminates.\n")
    render.show("NOTE: This only tests mappings, it does not add them to the server\n")
    while subject := await prompt.text("Subject", default="", flag="<SUBJECT>"):
        try:
            render.show(f"{_mapped(transform, subject)}\n")
        except CliError as error:
            render.show(f"Error: {error}\n")


def _mapped(transform: SubjectTransform, subject: str) -> str:
    if not is_valid(subject) or has_wildcard(subject):
        raise UsageError(f"invalid subject {subject!r}")
    found = transform.apply(subject)
    if found is None:
        raise NotFoundError("no matching transforms available", f"{subject} is not in {transform.source}")
    return found
