"""`pyjs schema search`, `info`, `validate` and `request`: the JSON Schemas of JetStream's API."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import click

from ...cli import messages, output, render
from ...cli.command import Command, RequestCommand
from ...cli.connection import connect
from ...cli.errors import CliError, DiffersError, NotFoundError, RefusedError, close_matches
from ...cli.output import NAME, Column, Table
from ...cli.output.formats import as_json, as_yaml
from ...cli.param import PATTERN
from ...protocol.api.messages import TYPE_PREFIX
from ...protocol.api.record import Schema
from .messages import PUB_ACK, schemas
from .validation import mistakes

SCHEMAS = Table("schemas", "Schemas", (Column("name", "Name", NAME),), key="name")
MISTAKES = Table("mistakes", "Validation Errors", (Column("text", "Error", NAME),), key="text")
SHOWN = 100  # mistakes


def schema_of(name: str) -> Schema:
    """Return the schema with this name. Raises NotFoundError."""
    known = schemas()
    if name not in known:
        short = {each.removeprefix(TYPE_PREFIX): each for each in known}
        near = close_matches(name, short)
        if name.startswith(TYPE_PREFIX):
            near = close_matches(name.removeprefix(TYPE_PREFIX), short)
        about = "pyjs has the schemas of JetStream's API, and none of events and monitoring"
        raise NotFoundError(f'no schema "{name}"', near or f"{about}: 'schema search' lists them")
    return known[name]


@click.command(cls=Command)
@output.listing(SCHEMAS, legacy="the names")
@click.argument("pattern", type=PATTERN, required=False, default=".")
def search(pattern: re.Pattern[str]) -> None:
    """List the schemas whose names match a regular expression."""
    found = [name for name in schemas() if pattern.search(name)]
    if not output.is_asked_for():
        lines = "\n  ".join(found)
        render.show(f"Matched Schemas:\n\n  {lines}" if found else f'No schemas matched "{pattern.pattern}"')
        return
    output.show(SCHEMAS.of({"name": name} for name in found), document=found)


@click.command(cls=Command)
@output.showing("schema")
@click.argument("schema")
@click.option("--yaml", is_flag=True, help="As -o yaml.")
def info(schema: str, yaml: bool) -> None:
    """Show a schema."""
    found = schema_of(schema)
    output.show_page(found, as_yaml(found) if yaml else as_json(found), name=schema)


@click.command(cls=Command)
@output.listing(MISTAKES, legacy="the errors")
@click.argument("schema")
@click.argument("file")
def validate(schema: str, file: str) -> None:
    """Validate a JSON file (- is stdin) against a schema; exit code 5 if it does not hold."""
    wanted = schema_of(schema)
    text = sys.stdin.read() if file == "-" else Path(file).read_text("utf-8")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CliError(f'could not parse JSON data in "{file}": {error}') from None
    found = list(mistakes(value, wanted))
    if not output.is_for_people():
        output.show(MISTAKES.of({"text": each} for each in found), document=found)
    elif found:
        render.show("\n".join([f"Validation errors in {file}:", "", *_listed(found), ""]))
    else:
        render.show(f"{file} validates against {schema}")
    if found:
        raise DiffersError(f"{file} does not hold to {schema}: {len(found)} errors")


def _listed(found: list[str]) -> list[str]:
    more = [f"  … and {len(found) - SHOWN} more"] if len(found) > SHOWN else []
    return [*(f"  {each}" for each in found[:SHOWN]), *more]


@click.command("request", cls=RequestCommand)
@output.listing(MISTAKES, legacy="the errors")
@click.argument("subject")
@click.argument("body", required=False, default="{}")
@click.option("--schema", default="", metavar="ID", help="The schema that the answer must have.")
@click.option("--show", "shown", is_flag=True, help="Show the answer.")
async def ask(subject: str, body: str, schema: str, shown: bool) -> None:
    """Send a request, and validate the answer against the schema of its type."""
    wanted = schema_of(schema) if schema else None
    async with connect() as connection:
        answer = await messages.asked(connection, subject, body.encode())
    try:
        value = json.loads(answer.data)
    except (ValueError, RecursionError) as error:
        raise CliError(f"the answer is not JSON: {error}") from None
    if shown and output.is_for_people():
        render.show(f"{as_json(value)}\n")
    kind = _type_of(value)
    if schema and kind != schema:
        raise RefusedError(f"invalid message type {kind}")
    found = list(mistakes(value, wanted or schema_of(kind)))
    if not output.is_for_people():
        output.show(MISTAKES.of({"text": each} for each in found), document=found)
    elif found:
        render.show("\n".join([f"Message did not pass validation against {kind}", "", *_listed(found)]))
    else:
        render.show(f"Response is a valid {kind} message")
    if found:
        raise DiffersError(f"the answer on {subject} does not hold to {kind}")


def _type_of(value: Any) -> str:
    """Return the schema's name of an answer. Raises CliError if it has no type."""
    kind = value.get("type") if isinstance(value, dict) else None
    if isinstance(kind, str):
        return kind
    if isinstance(value, dict) and ({"stream", "seq"} <= value.keys() or "error" in value):
        return f"{TYPE_PREFIX}{PUB_ACK}_response"
    raise CliError("could not determine the message type", "the answer has no field 'type'")
