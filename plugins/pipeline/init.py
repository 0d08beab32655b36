"""`pyjs pipeline init`: writes a document to start from, by questions on a terminal, else with defaults."""

from __future__ import annotations

import re
from pathlib import Path

import click

from ...cli import prompt, render
from ...cli.command import FORCE, Command
from ...cli.errors import CliError
from . import documents

DEFAULT = Path("pipeline.yaml")
NAMED = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
FORMATS = (
    ("Parquet files", "parquet"),
    ("JSON files", "json"),
    ("CSV files", "csv"),
    ("Delta table", "delta"),
    ("Iceberg table", "iceberg"),
    ("This terminal", "console"),
    ("Another stream", "jetstream"),
)
TRIGGERS = (
    ("When started: what has come since the last run, then end", "availableNow"),
    ("Continuously: a batch every ten seconds until stopped", "10s"),
    ("When started: the whole stream, as one batch", "batch"),
)


@click.command(cls=Command)
@click.argument("file", type=click.Path(path_type=Path), default=DEFAULT)
@click.option("--name", default="", metavar="NAME", help="The pipeline's name (default: the file's).")
@click.option("--stream", default="", metavar="STREAM", help="The stream to read (default ORDERS).")
@click.option("--subjects", default=None, metavar="LIST", help="Only messages on these subjects.")
@click.option(
    "--format",
    "kind",
    default="",
    type=click.Choice(["", *(value for _, value in FORMATS)]),
    metavar="FORMAT",
    help="Where rows go: parquet (default), json, csv, delta, iceberg, console, jetstream.",
)
@click.option("--target", default="", metavar="WHERE", help="The folder, or the subject of another stream.")
@documents.TRIGGER
@FORCE
async def init(
    file: Path,
    name: str,
    stream: str,
    subjects: str | None,
    kind: str,
    target: str,
    trigger: str,
    force: bool,
) -> None:
    """Write a pipeline with comments, valid as it is. What no flag gives is asked on a terminal."""
    try:
        from ...pipeline.declared import example
    except ImportError as error:
        raise documents.lacking(error) from None
    if file.exists() and not force:  # noqa: ASYNC240 - nothing else runs
        raise CliError(f"{file} is there already", "--force replaces it")
    name = name or await prompt.text("Pipeline name", flag="--name", default=_name(file), check=_validated)
    stream = stream or await prompt.text("Stream to read", flag="--stream", default="ORDERS", required=True)
    if subjects is None:
        subjects = await prompt.text(
            "Subjects to read",
            flag="--subjects",
            default="",
            explain="Only messages on these subjects, with commas; wildcards are allowed. Empty: all",
        )
    kind = kind or await prompt.choose("Write rows to", FORMATS, flag="--format", default="parquet")
    if not target and kind != "console":
        asked = "Subject to write to" if kind == "jetstream" else "Folder to write to"
        usual = f"{_name(file)}.out" if kind == "jetstream" else "out"
        target = await prompt.text(asked, flag="--target", default=usual, required=True)
    trigger = trigger or await prompt.choose("Run", TRIGGERS, flag="--trigger", default="availableNow")
    answers = example.ExampleAnswers(name, stream, subjects, kind, target, trigger, _connection())
    _write(file, example.text(answers))
    render.show(f"{file} was written\n")
    render.show(f"  pyjs pipeline check {file} --connect\n  pyjs pipeline run {file}")


def _name(file: Path) -> str:
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", file.stem)
    return name if NAMED.fullmatch(name) else "pipeline"


def _validated(name: str) -> str:
    if not NAMED.fullmatch(name):
        raise ValueError("a name has letters, digits, - and _ and begins with a letter")
    return name


def _connection() -> tuple[tuple[str, str], ...]:
    """Return the connection that the line gives, without secrets; empty if it gives none."""
    overlay = documents.overlay()
    kept = {key: value for key, value in overlay.given.items() if key not in {"password", "token", "user"}}
    return tuple(kept.items())


def _write(file: Path, text: str) -> None:
    from ...documents.problem import DocumentError
    from ...pipeline.declared import reading

    try:
        reading.parse(text, file, overlay=documents.overlay())
    except DocumentError as error:  # an answer that gives no valid document, such as a stream "a b"
        problem = error.problems[0]
        raise CliError(f"{problem.path}: {problem.message}", problem.hint) from None
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
