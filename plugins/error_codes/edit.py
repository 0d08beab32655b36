"""`pyjs errors edit`: changing or adding an error of a file, in the user's editor."""

from __future__ import annotations

import json
import os
from pathlib import Path

import click

from ...cli import prompt, render
from ...cli.command import Command
from ...cli.editor import drafted
from ...cli.errors import CliError
from ...cli.param import ExistingPath
from .show import validate_file
from .table import FILE, Record, faults_of, load


@click.command(cls=Command)
@click.argument("path", metavar="FILE", type=ExistingPath(dir_okay=False))
@click.argument("code", required=False, default=0, type=click.IntRange(0, 65535))
@FILE
async def edit(path: str, code: int, file: str | None) -> None:
    """Change the error with this code, or add one with the next code."""
    del file  # the argument says which one
    records = load(path)
    place = next((n for n, each in enumerate(records) if each.get("error_code") == code), len(records))
    highest = max((int(each.get("error_code", 0)) for each in records), default=0)
    draft: Record = records[place] if place < len(records) else _empty(highest + 1)
    text = json.dumps(draft, indent=2, ensure_ascii=False)
    while True:
        text = _edited(text)
        changed, faults = _parsed(text)
        if not faults:
            break
        render.log(f"Invalid error specification: {', '.join(faults)}")
        if not prompt.interactive() or not await prompt.confirm("Retry edit", default=True):
            raise CliError("nothing was changed")
    records[place:] = [changed, *records[place + 1 :]]
    _replace(Path(path), json.dumps(records, indent=2, ensure_ascii=False) + "\n")
    validate_file(path)


def _edited(text: str) -> str:
    with drafted(text, "pyjs-error-") as name:
        return Path(name).read_text(encoding="utf-8")


def _empty(code: int) -> Record:
    texts = dict.fromkeys(("description", "comment", "help", "url", "deprecates"), "")
    return {"constant": "", "code": 0, "error_code": code, **texts}


def _parsed(text: str) -> tuple[Record, list[str]]:
    """Return the edited error, and what is wrong with it."""
    try:
        found = json.loads(text)
    except ValueError as error:
        return {}, [f"this is not JSON: {error}"]
    return (found, faults_of(found)) if isinstance(found, dict) else ({}, ["this is not an object"])


def _replace(path: Path, text: str) -> None:
    """Write a file so that there is always either the old text or the new one."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        fresh.write_text(text, encoding="utf-8")
        fresh.chmod(path.stat().st_mode & 0o777)
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)
