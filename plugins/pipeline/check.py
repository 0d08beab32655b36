"""`pyjs pipeline check`: checks the document, the server and the streams, and shows what would be done."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...cli import output, render
from ...cli.command import Command
from ...cli.errors import mistakes, warn
from . import documents, steps

if TYPE_CHECKING:
    from ...pipeline.declared.reading import LoadedDocument
    from ...pipeline.declared.stream_checks import StreamCheck

COLUMNS = ("", "Stream", "Domain", "Messages", "Sequences", "Found")


@click.command(cls=Command)
@output.showing("pipeline_check")
@documents.FILE
@documents.TRIGGER
@documents.SET
@click.option(
    "--no-sql", is_flag=True, help="Do not have Spark's parser read the queries, for which Java starts."
)
@click.option("--connect", is_flag=True, help="Also look whether the server and its streams are there.")
def check(file: Path, trigger: str, given: dict[str, str], no_sql: bool, connect: bool) -> None:
    """Validate a document and show its plan; run nothing.

    Mistakes are told with their line and column. Where Java is there, Spark's parser reads the queries,
    conditions and schemas. Exit code 0: it can be run.
    """
    try:
        from ...documents.problem import DocumentError
    except ImportError as error:
        raise documents.lacking(error) from None
    try:
        loaded = documents.loaded(file, trigger=trigger, given=given)
        documents.playable(loaded)
        if not no_sql:
            _parsed(loaded)
    except DocumentError as error:
        problems = [asdict(problem) for problem in error.problems]
        output.show_page({"file": str(file), "valid": False, "problems": problems}, None)
        raise documents.refused(error) from None
    findings = _findings(loaded) if connect else []
    bad = [finding for finding in findings if finding.error]
    text = steps.text(loaded)
    if connect:
        text += "\n\n" + render.table("Streams", COLUMNS, [_row(each) for each in findings])
    if not bad:
        text += f"\n\n{file} is a valid pipeline"
    output.show_page(_document(loaded, findings, connect), text, name=loaded.document.name)
    steps.warn_of_unread(loaded)
    if bad:
        raise mistakes([(f"{each.path}: {each.error}", each.hint) for each in bad], "nothing was run")


def _parsed(loaded: LoadedDocument) -> None:
    """Have Spark's parser read the document's SQL; warn if it cannot. Raises DocumentError."""
    from ...documents.problem import DocumentError
    from ...pipeline.declared import spark_parser

    try:
        problems = spark_parser.problems(loaded)
    except spark_parser.ParserError as error:
        warn(f"the SQL was not parsed: {error}")
        return
    if problems:
        raise DocumentError(str(loaded.file), problems)


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
        "steps": [
            {**asdict(step), "reads": list(step.reads)} for step in plan.steps(loaded.document, loaded.folder)
        ],
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
