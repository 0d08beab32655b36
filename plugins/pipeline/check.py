"""`pyjs pipeline check`: checks the document, the server and the streams, and shows what would be done."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...cli import render
from ...cli.command import Command
from ...cli.errors import CliError
from . import documents, steps

if TYPE_CHECKING:
    from ...pipeline.declared.reading import LoadedDocument
    from ...pipeline.declared.stream_checks import StreamCheck

COLUMNS = ("", "Stream", "Domain", "Messages", "Sequences", "Found")


@click.command(cls=Command)
@documents.FILE
@documents.TRIGGER
@click.option("--connect", is_flag=True, help="Also look whether the server and its streams are there.")
@click.option("-j", "--json", "as_json", is_flag=True, help="Produce JSON output.")
def check(file: Path, trigger: str, connect: bool, as_json: bool) -> None:
    """Validate a document and show its plan; run nothing.

    Mistakes are told with their line and column. Exit code 0: it can be run.
    """
    try:
        from ...documents.problem import DocumentError
    except ImportError as error:
        raise documents.lacking(error) from None
    try:
        loaded = documents.loaded(file, trigger=trigger)
        documents.playable(loaded)
    except DocumentError as error:
        if as_json:
            problems = [asdict(problem) for problem in error.problems]
            render.show_json({"file": str(file), "valid": False, "problems": problems})
        raise documents.refused(error) from None
    findings = _findings(loaded) if connect else []
    if as_json:
        render.show_json(_document(loaded, findings, connect))
    else:
        steps.show(loaded)
        steps.warn_of_unread(loaded)
        if connect:
            render.show("\n" + render.table("Streams", COLUMNS, [_row(each) for each in findings]))
    bad = [finding for finding in findings if finding.error]
    if bad:
        raise CliError(f"{bad[0].path}: {bad[0].error}", bad[0].hint)
    if not as_json:
        render.show(f"\n{file} is a valid pipeline")


def _findings(loaded: LoadedDocument) -> list[StreamCheck]:
    from ...pipeline.declared import stream_checks

    return stream_checks.check(loaded)


def _document(loaded: LoadedDocument, findings: list[StreamCheck], connect: bool) -> dict[str, Any]:
    from ...pipeline.declared import engine, plan

    found: dict[str, Any] = {
        "file": str(loaded.file),
        "valid": True,
        "name": loaded.document.name,
        "trigger": loaded.document.trigger,
        "on": engine.place(loaded.document),
        "steps": [asdict(step) for step in plan.steps(loaded.document, loaded.folder)],
    }
    if connect:
        found["streams"] = [asdict(finding) for finding in findings]
    return found


def _row(finding: StreamCheck) -> tuple[str, ...]:
    return (
        finding.path,
        finding.stream,
        finding.domain,
        "" if finding.messages is None else render.number(finding.messages),
        finding.sequences,
        finding.error or "ok",
    )
