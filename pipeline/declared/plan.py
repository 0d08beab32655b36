"""The parts of a pipeline and what reads what, as data: for the plan that people see, and for checks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from . import functions
from .document import (
    AVAILABLE_NOW,
    BATCH,
    DEAD_LETTERS,
    AnySink,
    AnySource,
    ConsoleSink,
    FolderSink,
    IcebergSink,
    JdbcSink,
    PipelineDocument,
    SourceSection,
    SparkSink,
    TransformSection,
)
from .secrets import clean
from .section import milliseconds, option_text
from .table_steps import TableSection

_NOISE = re.compile(r"--[^\n]*|/\*.*?\*/|'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
_WORD = re.compile(r"[A-Za-z_]\w*")
SHOWN = 60  # characters of a query


@dataclass(frozen=True)
class PlanStep:
    """One line of the plan.

    kind: source, transform or sink
    reads: the tables that it reads
    """

    kind: str
    name: str
    what: str
    reads: tuple[str, ...] = ()
    used: bool = True


def steps(document: PipelineDocument, folder: Path) -> list[PlanStep]:
    """Return the sources, transforms and sinks in the order in which they run."""
    read = reads(document, folder)
    wanted = {table for tables in read.values() for table in tables}
    wanted |= {sink.origin for sink in document.sinks.values()}
    if DEAD_LETTERS in wanted:
        wanted |= {name for name, table in _tables(document).items() if table.drops}
    found = [
        PlanStep("source", name, _source(each, stream=document.streams(name)), (), name in wanted)
        for name, each in document.sources.items()
    ]
    found += [
        PlanStep("transform", name, _transform(each), read[name], name in wanted)
        for name, each in document.transforms.items()
    ]
    found += [
        PlanStep("sink", name, _sink(each, document), (each.origin,)) for name, each in document.sinks.items()
    ]
    return found


def reads(document: PipelineDocument, folder: Path) -> dict[str, tuple[str, ...]]:
    """Return the tables that each transform reads; for a query, the earlier tables that it names."""
    known = list(document.sources)
    found = {}
    for name, transform in document.transforms.items():
        found[name] = _inputs(transform, known, folder)
        known.append(name)
    return found


def trigger(document: PipelineDocument) -> str:
    """Return in words when batches run."""
    if document.trigger == BATCH:
        return "one batch, from the streams' start to their end of now"
    if document.trigger == AVAILABLE_NOW:
        return "what has come since the last run, then ends"
    span = milliseconds(document.trigger)
    return f"a batch every {span / 1000:g} s until stopped" if span else "batch after batch until stopped"


def _inputs(transform: TransformSection, known: list[str], folder: Path) -> tuple[str, ...]:
    if transform.sql is not None:
        words = {word.lower() for word in _WORD.findall(_NOISE.sub(" ", transform.sql))}
        return tuple(name for name in known if name.lower() in words)
    if transform.origin is not None:
        return (transform.origin,)
    if transform.inputs is not None:
        return tuple(transform.inputs)
    return functions.read_parameters(str(transform.python), folder).parameters or ()


def _tables(document: PipelineDocument) -> dict[str, TableSection]:
    return {**document.sources, **document.transforms}


def _source(source: AnySource, *, stream: bool) -> str:
    if not isinstance(source, SourceSection):
        where = source.table or (clean(source.path) if source.path else "")
        words = [" ".join(filter(None, (source.format, where, "as a stream" if stream else "")))]
        return "; ".join([*words, *_steps(source)])
    options = source.options
    stream_name = next(
        (option_text(options[key]) for key in ("stream", "streams", "streamPattern") if key in options), ""
    )
    words = [f"stream {stream_name}"]
    if source.role == "table":
        words.append("as a table")
    if "subjects" in options:
        words.append(f"subjects {option_text(options['subjects'])}")
    if source.domains:
        words.append(f"domains {', '.join(source.domains)}")
    elif "domain" in options:
        words.append(f"domain {option_text(options['domain'])}")
    return "; ".join([*words, *_steps(source)])


def _transform(transform: TransformSection) -> str:
    what = f"python {transform.python}"
    if transform.origin is not None:
        what = f"of {transform.origin}"
    if transform.sql is not None:
        query = " ".join(transform.sql.split())
        what = f"sql {query if len(query) <= SHOWN else query[: SHOWN - 1] + '…'}"
    return "; ".join([what, *_steps(transform)])


def _steps(table: TableSection) -> list[str]:
    """Return the steps of a table in words."""
    words = []
    if table.decode:
        words.append(f"{table.decode.column} is {table.decode.format}, else {table.decode.otherwise}")
    words += [f"{rule}: {each.sql}, else {each.otherwise}" for rule, each in table.expect.items()]
    words += [f"{column} masked by {each.method}" for column, each in table.mask.items()]
    if table.watermark:
        words.append(_late(table.watermark.column, table.watermark.delay))
    return words


def _late(column: str, delay: str) -> str:
    return f"{column} may be {delay} late"


def _sink(sink: AnySink, document: PipelineDocument) -> str:
    if isinstance(sink, FolderSink):
        return f"{sink.format} {clean(sink.path)}" + (
            f" by {', '.join(sink.partition_by)}" if sink.partition_by else ""
        )
    if isinstance(sink, IcebergSink):
        return f"iceberg table {sink.table}" + (
            f" by {', '.join(sink.partition_by)}" if sink.partition_by else ""
        )
    if isinstance(sink, JdbcSink):
        once = "" if document.trigger == BATCH else " (at least once)"
        once = f" by {', '.join(sink.key)}" if sink.key else once
        return f"jdbc {clean(sink.url)} table {sink.table}{once}"
    if isinstance(sink, ConsoleSink):
        return f"console, {sink.rows} rows of a batch"
    if isinstance(sink, SparkSink):
        where = sink.table or (clean(sink.path) if sink.path else "")
        return " ".join(filter(None, (sink.format, where)))
    stream = option_text(sink.options.get("stream", ""))
    subject = option_text(sink.options.get("subject", "")) or "of the column subject"
    return f"stream {stream} subject {subject}" if stream else f"subject {subject}"
