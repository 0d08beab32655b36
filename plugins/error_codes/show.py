"""`pyjs errors ls|lookup|validate`: listing errors, showing one, checking a file."""

from __future__ import annotations

import re

import click

from ...cli import output, render
from ...cli.command import Command
from ...cli.errors import CliError, NotFoundError, UsageError
from ...cli.output import NAME, NUMBER, TEXT, WORD, Column, Table
from ...cli.param import ExistingPath
from .table import FILE, Record, faults_of, file_of, load

ERRORS = Table(
    "errors",
    "NATS Errors",
    (
        Column("error_code", "NATS Code", NUMBER, show=lambda record: str(record["error_code"])),
        Column("code", "HTTP Error Code", NUMBER),
        Column("description", "Description", TEXT),
        Column("comment", "Comment", TEXT, optional=True),
        Column("constant", "Go Constant", NAME),
        Column("help", "Help", TEXT, wide=True),
        Column("url", "URL", WORD, wide=True),
    ),
    key="error_code",
    spare=("code", "comment", "constant"),
)
MISTAKES = Table(
    "mistakes",
    "Mistakes",
    (
        Column(
            "error_code", "NATS Code", NUMBER, nullable=True, show=lambda record: str(record["error_code"])
        ),
        Column("text", "Mistake", TEXT),
    ),
    key="error_code",
)
ORDERS = {"code": "error_code", "http": "code", "description": "description"}
ORDERS |= dict.fromkeys(("descr", "d"), "description")


@click.command(cls=Command)
@output.listing(ERRORS)
@click.argument("match", required=False, default="")
@click.argument("sort", required=False, default="code", type=click.Choice(list(ORDERS)))
@click.option("-R", "--reverse/--no-reverse", default=False, help="The other way round.")
@FILE
def ls(match: str, sort: str, reverse: bool, file: str | None) -> None:
    """List the errors, or those that match a regular expression."""
    try:
        wanted = re.compile(match or ".", re.IGNORECASE)
    except re.error as error:
        raise UsageError(f"{match!r} is not a regular expression: {error}") from None
    fields = ("description", "code", "error_code", "help", "constant", "comment")
    found = [
        {**dict.fromkeys(("comment", "help", "url"), ""), **record}
        for record in load(file_of(file))
        if any(wanted.search(str(record.get(field, ""))) for field in fields)
    ]
    if not found:
        output.show_none(ERRORS)
        raise NotFoundError(f"no errors found matching regular expression {match}")
    found.sort(key=lambda record: record.get(ORDERS[sort], 0), reverse=reverse)
    output.show(ERRORS.of(found))


@click.command(cls=Command)
@output.showing("error")
@click.argument("code", type=click.IntRange(0, 65535))
@FILE
def lookup(code: int, file: str | None) -> None:
    """Show the error with this code."""
    for record in load(file_of(file)):
        if record.get("error_code") == code:
            output.show_page(record, _page(record), name=str(code))
            return
    raise NotFoundError(f"no error matches code {code}", "'errors ls' shows them all")


def _page(record: Record) -> str:
    pairs = [("Description", record.get("description", ""))]
    pairs += [("Comment", record["comment"])] if record.get("comment") else []
    pairs += [("HTTP Code", record.get("code", "")), ("Go Index Constant", record.get("constant", ""))]
    pairs += [("Help URL", record["url"])] if record.get("url") else []
    known = record.get("help") or "No further information available"
    return f"NATS Error Code: {record['error_code']}\n\n{render.fields(pairs)}\n\n{known}"


@click.command(cls=Command)
@output.listing(MISTAKES)
@click.argument("path", metavar="[FILE]", required=False, type=ExistingPath(dir_okay=False))
@FILE
def validate(path: str | None, file: str | None) -> None:
    """Check that all errors of a file are well made."""
    chosen = path or file_of(file)
    if chosen is None:
        raise UsageError("errors file is required", "give it as the argument, or with --errors")
    validate_file(chosen)


def validate_file(file: str) -> None:
    """Check a file, and say how many errors it has. Raises CliError."""
    records = load(file)
    wrong = [(record, faults) for record in records if (faults := faults_of(record))]
    codes = [record["error_code"] for record in records if "error_code" in record]
    twice = sorted({code for code in codes if codes.count(code) > 1})
    lines = [f"{record.get('error_code')} failed: {', '.join(faults)}" for record, faults in wrong]
    if twice:
        lines.append(f"given more than once: {', '.join(map(str, twice))}")
    found = [
        {"error_code": each.get("error_code"), "text": text} for each, faults in wrong for text in faults
    ]
    found += [{"error_code": code, "text": "given more than once"} for code in twice]
    said = "\n".join(lines) or f"Validated {len(records)} errors"
    output.show(MISTAKES.of(found), text="" if output.is_asked_for() else said)
    if found:
        raise CliError(f"{file} is invalid")
