"""The output of a command: stdout, or a file that only its owner can read."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from ...keys import OperationReport, files
from ...keys.workspace.report import place
from .command import finish, run

STDOUT = "--"


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A file that was written."""

    report: OperationReport
    path: Path


def output_file(*names: str) -> Callable[..., Any]:
    """Return the option that names the file; `--` is stdout."""
    return click.option(*names, "where", default=STDOUT, metavar="FILE", help="Output file, '--' is stdout.")


def write(text: str, where: str, what: str, *, is_json: bool = False) -> None:
    """Write a text to stdout, or to the file `where` (mode 0600, in one step), and report `wrote <what> to`.

    With `--json` stdout gets an object with the `text`, unless the text itself `is_json`. Raises FolderError.
    """
    if where == STDOUT:
        click.echo(text if is_json or not run().json else json.dumps({"text": text}, ensure_ascii=False))
        return
    path = Path(where).expanduser()
    files.write(path, text)
    report = OperationReport()
    report.ok(f"wrote {what} to {place(path)}")
    finish(WrittenFile(report, path))
