"""Errors as records: those of pyjs' own table, or of a file in the form of nats-server's server/errors.json.

A record has `constant`, `code` (like HTTP's), `error_code`, `description`, and may have `comment`, `help`,
`url` and `deprecates`.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import click

from ...cli.errors import CliError
from ...cli.param import ExistingPath
from ...protocol.errors import entries

Record = dict[str, Any]
TEXTS = ("constant", "description", "comment", "help", "url", "deprecates")
NUMBERS = ("code", "error_code")
LOWEST = 1000

FILE = click.option(
    "--errors", "file", metavar="FILE", type=ExistingPath(dir_okay=False), help="Errors to use."
)


def file_of(given: str | None) -> str | None:
    """Return the file given to the command or to its group; None for pyjs' own table."""
    found: str | None = given or click.get_current_context().meta.get("pyjs.plugins.error_codes")
    return found


def load(file: str | None) -> list[Record]:
    """Return the errors of a file, or those of pyjs' own table. Raises CliError."""
    if file is None:
        return [
            {
                "constant": row.constant,
                "code": row.code,
                "error_code": row.err_code,
                "description": row.description,
            }
            for row in entries()
        ]
    try:
        found = json.loads(Path(file).read_text(encoding="utf-8"))
    except ValueError as error:
        raise CliError(f"{file} is not JSON: {error}") from None
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise CliError(f"{file} is not a list of errors")
    for each in found:
        faults = shape_faults(each)
        if faults:
            raise CliError(f"{file}: the error {each.get('error_code')}: {', '.join(faults)}")
    return found


def shape_faults(record: Record) -> list[str]:
    """Return which fields have values of a wrong type."""
    faults = [f"{name} is not a text" for name in TEXTS if not isinstance(record.get(name, ""), str)]
    return faults + [
        f"{name} is not a number"
        for name in NUMBERS
        if not isinstance(record.get(name, 0), int) or isinstance(record.get(name), bool)
    ]


def faults_of(record: Record) -> list[str]:
    """Return what is wrong with an error, as nats-server's own rules say."""
    faults = shape_faults(record)
    if faults:
        return faults
    description, constant = record.get("description", ""), record.get("constant", "")
    if re.fullmatch(r"\{[^}]+\}", description) and not record.get("comment"):
        faults.append("a description that is one placeholder needs a comment")
    if record.get("error_code", 0) < LOWEST:
        faults.append(f"error codes may not be below {LOWEST}")
    faults += [f"{name} is missing" for name in ("code", "constant", "description") if not record.get(name)]
    if description.count("{") != description.count("}"):
        faults.append("the description has an unmatched { or }")
    if "{" in description and not constant.endswith("F"):
        faults.append("constants of errors with placeholders end in F")
    return faults
