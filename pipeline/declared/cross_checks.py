"""Checks across the sections of a document: names, which table reads which, what a trigger allows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path as File

from ...cli.errors import close_matches
from ...documents.located_yaml import Path
from ...documents.problem import DocumentProblem
from . import functions
from .document import (
    BATCH,
    DEAD_LETTERS,
    FolderSink,
    IcebergSink,
    JdbcSink,
    PipelineDocument,
    SparkSink,
    StreamSink,
    TransformSection,
)

Found = Iterator[tuple[Path, DocumentProblem]]


def problems(document: PipelineDocument, folder: File) -> Found:
    """Yield every mistake with the path of what has to be changed."""
    yield from _names(document)
    yield from _sources(document)
    yield from _transforms(document, folder)
    yield from _sinks(document, folder)


def _names(document: PipelineDocument) -> Found:
    seen: dict[str, str] = {DEAD_LETTERS.lower(): "the table of all dead letters"}
    for kind, names in (("sources", document.sources), ("transforms", document.transforms)):
        for name in names:
            if name.lower() in seen:
                other = seen[name.lower()]
                yield (
                    (kind, name),
                    DocumentProblem("", f"is called as {other} is: Spark's tables do not tell case"),
                )
            seen.setdefault(name.lower(), f"{kind}.{name}")


def _sources(document: PipelineDocument) -> Found:
    for name, source in document.sources.items():
        if document.trigger == BATCH and source.role == "stream":
            hint = "trigger: availableNow reads what has come since the last run, and ends"
            yield ("sources", name, "as"), DocumentProblem("", "trigger: batch reads tables", hint=hint)
    if document.trigger != BATCH and not any(document.streams(name) for name in document.sources):
        hint = "trigger: batch for tables alone; as: stream for files or topics that grow"
        yield ("sources",), DocumentProblem("", "there is no stream among them", hint=hint)


def _transforms(document: PipelineDocument, folder: File) -> Found:
    known = list(document.sources)
    for name, transform in document.transforms.items():
        path: Path = ("transforms", name)
        if transform.python is not None:
            yield from _function(transform, path, known, document, folder)
        if transform.origin is not None and transform.origin not in known:
            yield (*path, "from"), _unknown(transform.origin, known, document)
        known.append(name)


def _function(
    transform: TransformSection, path: Path, known: list[str], document: PipelineDocument, folder: File
) -> Found:
    try:
        found = functions.read_parameters(str(transform.python), folder)
    except functions.FunctionError as error:
        yield (*path, "python"), DocumentProblem("", str(error), hint=error.hint)
        return
    for index, table in enumerate(transform.inputs or ()):
        if table not in known:
            yield (*path, "inputs", index), _unknown(table, known, document)
    if found.parameters is None:
        return
    if transform.inputs is None:
        for parameter in found.parameters:
            if parameter not in known:
                problem = _unknown(parameter, known, document)
                hint = problem.hint or "inputs: [TABLE, …] says which tables the function is given"
                yield (
                    (*path, "python"),
                    DocumentProblem("", f"parameter {parameter}: {problem.message}", hint=hint),
                )
    elif len(found.parameters) > len(transform.inputs):
        takes = ", ".join(found.parameters)
        yield (
            (*path, "inputs"),
            DocumentProblem("", f"has {len(transform.inputs)} of the function's parameters ({takes})"),
        )


def _sinks(document: PipelineDocument, folder: File) -> Found:
    known = [*document.sources, *document.transforms, *([DEAD_LETTERS] if document.drops else [])]
    places: dict[str, str] = {}
    for name, sink in document.sinks.items():
        path: Path = ("sinks", name)
        if sink.origin == DEAD_LETTERS and not document.drops:
            hint = "otherwise: drop, of decode or an expectation, makes dead letters"
            yield (
                (*path, "from"),
                DocumentProblem("", "there are no dead letters: no step drops rows", hint=hint),
            )
        elif sink.origin not in known:
            yield (*path, "from"), _unknown(sink.origin, known, document)
        addressed = not isinstance(sink, StreamSink) or any(key.lower() == "subject" for key in sink.options)
        if sink.origin == DEAD_LETTERS and not addressed:
            hint = "such as subject: dead.orders"
            yield path, DocumentProblem("", "dead letters need a subject to be published to", hint=hint)
        if isinstance(sink, FolderSink):
            place = location(sink.path, folder).rstrip("/")
            if place in places:
                yield (
                    (*path, "path"),
                    DocumentProblem("", f"is that of sinks.{places[place]}: each needs a folder of its own"),
                )
            places.setdefault(place, name)
        if isinstance(sink, IcebergSink):
            yield from _iceberg(sink, path, places, name)
        if document.trigger == BATCH:
            if sink.output_mode != "append":
                yield (
                    (*path, "outputMode"),
                    DocumentProblem("", "goes with streams; a batch has mode: append or overwrite"),
                )
            continue
        tables = FolderSink | IcebergSink | JdbcSink | SparkSink
        if isinstance(sink, tables) and sink.mode not in {None, "append"}:
            yield (
                (*path, "mode"),
                DocumentProblem("", "a stream only appends", hint="trigger: batch can overwrite"),
            )
        if isinstance(sink, FolderSink) and sink.output_mode != "append":
            yield (
                (*path, "outputMode"),
                DocumentProblem(
                    "",
                    "files are only appended to",
                    hint="a watermark lets aggregates be appended once they are final",
                ),
            )


def _iceberg(sink: IcebergSink, path: Path, tables: dict[str, str], name: str) -> Found:
    if other := tables.get(sink.table):
        yield (
            (*path, "table"),
            DocumentProblem("", f"is that of sinks.{other}: each needs a table of its own"),
        )
    tables.setdefault(sink.table, name)
    known = f"catalog {sink.catalog}"
    if sink.warehouse is not None and tables.setdefault(known, sink.warehouse) != sink.warehouse:
        yield (
            (*path, "warehouse"),
            DocumentProblem("", f"{known} has another one, {tables[known]}: a catalog has one folder"),
        )


def _unknown(table: str, known: list[str], document: PipelineDocument) -> DocumentProblem:
    if table.lower() == DEAD_LETTERS.lower() and table != DEAD_LETTERS:
        return DocumentProblem("", f"there is no table {table}", hint=f"did you mean {DEAD_LETTERS}?")
    if table == DEAD_LETTERS:
        return DocumentProblem("", f"{DEAD_LETTERS} is for sinks only: no table is made of them")
    if table in document.transforms:
        return DocumentProblem("", f"{table} comes later: a table is made of those above it")
    hint = close_matches(table, known) or f"there are {', '.join(known)}"
    return DocumentProblem("", f"there is no table {table}", hint=hint)


def location(path: str, folder: File) -> str:
    """Return where a path of the document is: unchanged if it is a URL, else relative to the document."""
    return path if "://" in path else str(folder / File(path).expanduser())
