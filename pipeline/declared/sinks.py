"""Writing a table to a sink: once, or as a streaming query."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from . import jdbc, letters, options
from .checkpoint import discard_unfinished_start
from .cross_checks import location
from .document import (
    AVAILABLE_NOW,
    DEAD_LETTERS,
    AnySink,
    ConsoleSink,
    FolderSink,
    IcebergSink,
    JdbcSink,
    PipelineDocument,
    SparkSink,
    StreamSink,
)
from .formats import texts
from .reading import LoadedDocument
from .section import milliseconds

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

STREAMLESS = "trigger: batch writes tables; a source of files is a stream with `as: stream`"
# Iceberg then takes rows in any order for a table with partitions; a stream cannot be sorted.
FAN_OUT = {"fanout-enabled": "true"}
OBSERVED = "out"  # the name under which Spark counts the rows of a sink
# sink, batch, columns, rows, of how many (None: of more)
Show = Callable[[str, int, Sequence[str], Sequence[Sequence[Any]], int | None], None]


class StreamlessError(ValueError):
    """A streaming run cannot write a table that no stream is in; `hint` says what to do."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


def write(frame: DataFrame, name: str, loaded: LoadedDocument, show: Show) -> int:
    """Write a table as one batch and return the number of rows; for a console, of the rows shown."""
    from pyspark.sql import Observation, functions

    sink = loaded.document.sinks[name]
    if isinstance(sink, ConsoleSink):
        first = frame.take(sink.rows + 1)  # counting all of them would read them once more
        _show(frame, name, 0, sink, show, first, len(first) if len(first) <= sink.rows else None)
        return min(len(first), sink.rows)
    if isinstance(sink, StreamSink) and sink.origin == DEAD_LETTERS:
        frame = letters.messages(frame)
    counted = Observation(OBSERVED)
    frame = frame.observe(counted, functions.count(functions.lit(1)).alias("rows"))
    if isinstance(sink, StreamSink):
        given = options.of_sink(loaded.document, name, loaded.overlay)
        frame.write.format("jetstream").options(**given).mode("append").save()
    elif isinstance(sink, FolderSink | IcebergSink | SparkSink):
        writer = frame.write.format(sink.format).options(**texts(sink.options)).mode(_mode(sink))
        writer = writer.partitionBy(*sink.partition_by) if sink.partition_by else writer
        if not isinstance(sink, FolderSink) and sink.table:
            writer.saveAsTable(sink.table)
        else:
            writer.save(_place(sink, loaded))
    elif sink.key:
        jdbc.write_by_key(frame, sink, loaded.document.name, name)
    else:
        jdbc.append(frame, sink, sink.mode or "error")
    return int(counted.get["rows"])


def start(
    frame: DataFrame, name: str, loaded: LoadedDocument, checkpoint: str, show: Show, counts: dict[int, int]
) -> StreamingQuery:
    """Start the query that writes a table, with its checkpoint in the folder `checkpoint`.

    Its progress reports observe OBSERVED.rows. The rows of a console's batches are put into `counts` instead.
    """
    from pyspark.sql import functions

    document = loaded.document
    sink = document.sinks[name]
    if not frame.isStreaming:
        raise StreamlessError(f"{sink.origin} reads no stream", STREAMLESS)
    discard_unfinished_start(checkpoint)
    if isinstance(sink, StreamSink) and sink.origin == DEAD_LETTERS:
        frame = letters.messages(frame)
    if not isinstance(sink, ConsoleSink):
        frame = frame.observe(OBSERVED, functions.count(functions.lit(1)).alias("rows"))
    writer = frame.writeStream.queryName(f"{document.name}.{name}").outputMode(sink.output_mode)
    writer = writer.option("checkpointLocation", checkpoint).trigger(**_trigger(document))
    if isinstance(sink, StreamSink):
        return writer.format("jetstream").options(**options.of_sink(document, name, loaded.overlay)).start()
    if isinstance(sink, FolderSink | IcebergSink | SparkSink):
        added = FAN_OUT if isinstance(sink, IcebergSink) else {}
        writer = writer.format(sink.format).options(**added | texts(sink.options))
        if sink.partition_by:
            writer = writer.partitionBy(*sink.partition_by)
        if not isinstance(sink, FolderSink) and sink.table:
            return writer.toTable(sink.table)
        return writer.start(_place(sink, loaded))
    return writer.foreachBatch(_each(name, sink, show, counts, document.name)).start()


def _trigger(document: PipelineDocument) -> dict[str, Any]:
    if document.trigger == AVAILABLE_NOW:
        return {"availableNow": True}
    return {"processingTime": f"{milliseconds(document.trigger)} milliseconds"}


def _each(
    name: str, sink: AnySink, show: Show, counts: dict[int, int], pipeline: str
) -> Callable[[DataFrame, int], None]:
    """Return the function that Spark calls with each batch of a sink without a streaming writer."""

    def show_batch(frame: DataFrame, number: int) -> None:
        assert isinstance(sink, ConsoleSink)
        frame = frame.persist()
        try:
            counts[number] = frame.count()
            if counts[number]:
                _show(frame, name, number, sink, show, frame.take(sink.rows), counts[number])
        finally:
            frame.unpersist()

    def write_batch(frame: DataFrame, _number: int) -> None:
        assert isinstance(sink, JdbcSink)
        if sink.key:
            jdbc.write_by_key(frame, sink, pipeline, name)
        else:
            jdbc.append(frame, sink, "append")

    return show_batch if isinstance(sink, ConsoleSink) else write_batch


def _show(
    frame: DataFrame,
    name: str,
    number: int,
    sink: ConsoleSink,
    show: Show,
    rows: Sequence[Sequence[Any]],
    total: int | None,
) -> None:
    show(name, number, frame.columns, [_cells(row, sink.truncate) for row in rows[: sink.rows]], total)


def _cells(row: Sequence[Any], longest: int) -> list[str]:
    return [_cell(value, longest) for value in row]


def _cell(value: object, longest: int) -> str:
    """Return a value for a table on the terminal; bytes as the text that they probably are."""
    if isinstance(value, bytes | bytearray):
        value = bytes(value).decode("utf-8", "backslashreplace")
    text = "NULL" if value is None else str(value)
    text = "".join(each if each.isprintable() else " " for each in text)
    return text if not longest or len(text) <= longest else text[: max(1, longest - 1)] + "…"


def _place(sink: FolderSink | IcebergSink | SparkSink, loaded: LoadedDocument) -> str | None:
    path = None if isinstance(sink, IcebergSink) else sink.path
    return location(path, loaded.folder) if path else None


def _mode(sink: FolderSink | IcebergSink | SparkSink) -> str:
    """Return the mode of a batch: files are not mixed with others unasked; other formats only know append."""
    return sink.mode or ("append" if isinstance(sink, SparkSink) else "error")
