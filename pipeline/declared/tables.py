"""From a document to DataFrames: each source and transform is a table, and a view that queries name."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ...documents.located_yaml import Path, dotted
from . import decoding, failure, formats, functions, masking, options, rules, sampling
from .document import AVAILABLE_NOW, BATCH, DEAD_LETTERS, SourceSection, TransformSection
from .reading import LoadedDocument
from .section import milliseconds
from .table_steps import TableSection, Watermark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Observation, SparkSession


@dataclass
class Built:
    """All tables of a document.

    tables: by name
    letters: the dead letters of each table that drops rows
    counts: where a batch query counts the rows that broke the rules of a table
    """

    tables: dict[str, DataFrame] = field(default_factory=dict)
    letters: list[DataFrame] = field(default_factory=list)
    counts: dict[str, Observation] = field(default_factory=dict)

    def of(self, name: str) -> DataFrame:
        """Return the table of this name; DEAD_LETTERS is that of all dead letters."""
        if name == DEAD_LETTERS and name not in self.tables:
            return functools.reduce(_union, self.letters)
        return self.tables[name]

    def broken(self, written: DataFrame) -> dict[str, int]:
        """Return how many rows broke each rule of the tables that a batch was made of, each table once.

        written: what was written just now; empty with Spark Connect, which does not show what it is made of
        """
        plan = getattr(written, "_jdf", None)
        if plan is None:
            return {}
        shown = plan.queryExecution().analyzed().toString()
        found: dict[str, int] = {}
        for name in [name for name in self.counts if f"CollectMetrics {rules.METRICS}{name}," in shown]:
            found |= rules.named(name, self.counts.pop(name).get)
        return found


LIMITS = ("maxoffsetspertrigger", "minoffsetspertrigger")


class RunError(RuntimeError):
    """A run failed. The text is short and begins with the place in the document; `hint` says what to do."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


def failed(loaded: LoadedDocument, path: Path, error: BaseException) -> RunError:
    """Return the error for what Spark, or a user's function, raised while `path` was made or run."""
    message, hint = failure.describe(error)
    return at(loaded, path, message, hint or getattr(error, "hint", ""))


def at(loaded: LoadedDocument, path: Path, message: str, hint: str = "") -> RunError:
    """Return an error at a place of the document."""
    place = loaded.place(*path)
    where = f"{loaded.file}:{place.line}:{place.column}: " if place else ""
    return RunError(f"{where}{dotted(path)}: {message}", hint)


def build(spark: SparkSession, loaded: LoadedDocument, checkpoint: str = "") -> Built:
    """Make all tables, lazily: nothing is read yet, except where a schema is found in a sample.

    checkpoint: where such schemas are kept, for streams

    Raises RunError.
    """
    making = _Making(spark, loaded, checkpoint)
    document = loaded.document
    for name, source in document.sources.items():
        path: Path = ("sources", name)
        try:
            making.add(name, making.read(name), source)
        except Exception as error:
            raise failed(loaded, path, error) from error
    for name, transform in document.transforms.items():
        kind = "sql" if transform.sql is not None else "python" if transform.python is not None else "from"
        path = ("transforms", name, kind)
        try:
            making.add(name, _made(spark, transform, making.built.tables, loaded), transform)
        except RunError:
            raise
        except Exception as error:
            raise failed(loaded, path, error) from error
    return making.built


class _Making:
    """The tables that are made so far, and what a table is made with."""

    def __init__(self, spark: SparkSession, loaded: LoadedDocument, checkpoint: str) -> None:
        self.built = Built()
        self._spark, self._loaded, self._checkpoint = spark, loaded, checkpoint

    def read(self, name: str) -> DataFrame:
        """Return a source as a table; the streams of several domains together."""
        from ..source.limits import LIMITED

        spark, document = self._spark, self._loaded.document
        source, stream = document.sources[name], document.streams(name)
        if not isinstance(source, SourceSection):
            return formats.read(spark, source, self._loaded.folder, stream=stream)
        # Where Spark knows no limits, `availableNow` is one batch: limited, it would leave what waits.
        dropped = LIMITS if document.trigger == AVAILABLE_NOW and not LIMITED else ()
        found = [
            (spark.readStream if stream else spark.read)
            .format("jetstream")
            .options(**{key: value for key, value in each.items() if key.lower() not in dropped})
            .load()
            for each in options.of_source(document, name, self._loaded.overlay)
        ]
        return functools.reduce(_union, found)

    def add(self, name: str, frame: DataFrame, section: TableSection) -> None:
        """Take a table through its steps, and make it a view of its name."""
        decode = section.decode
        if decode is not None or section.expect:
            plain = frame
            frame = rules.with_origin(frame, decode.column if decode else "data")
            if decode is not None:
                schema = self._schema(name, plain, section)
                frame = decoding.decoded(frame, decode, schema, self._loaded.folder)
            ruled = rules.ruled(frame, name, section, observed=self._loaded.document.trigger == BATCH)
            frame = ruled.table
            self.built.letters += [ruled.letters] if ruled.letters is not None else []
            if ruled.counts is not None:
                self.built.counts[name] = ruled.counts
        self.built.tables[name] = _view(masking.masked(frame, section.mask), name, section.watermark)

    def _schema(self, name: str, frame: DataFrame, section: TableSection) -> str:
        """Return the schema to decode by: the document's, or one found in a sample."""
        decode, stream = section.decode, frame.isStreaming
        assert decode is not None
        if not decode.sampled:
            return str(decode.shape)
        found = sampling.remembered(self._checkpoint, name) if stream else ""
        if found:
            return found
        if stream:
            source = section.origin if isinstance(section, TransformSection) else name
            if source not in self._loaded.document.sources:
                raise decoding.StepError(
                    "decode has no schema, and finds one only in a source", "schema: gives it one"
                )
            frame = sampling.first_messages(self._spark, self._loaded, source)
        found = sampling.schema(frame, decode)
        if stream:
            sampling.remember(self._checkpoint, name, found)
        return found


def _union(one: DataFrame, other: DataFrame) -> DataFrame:
    return one.unionByName(other)


def _made(
    spark: SparkSession, transform: TransformSection, tables: Mapping[str, DataFrame], loaded: LoadedDocument
) -> DataFrame:
    from pyspark.sql import DataFrame

    if transform.origin is not None:
        return tables[transform.origin]
    if transform.sql is not None:
        return spark.sql(transform.sql.strip().removesuffix(";"))
    function = functions.load(str(transform.python), loaded.folder)
    names = transform.inputs or functions.parameters(function)
    missing = [name for name in names if name not in tables]
    if missing:
        raise functions.FunctionError(
            f"there is no table {missing[0]} for the parameter of that name",
            "inputs: [TABLE, …] says which tables the function is given",
        )
    made = function(*(tables[name] for name in names))
    if not isinstance(made, DataFrame):
        raise functions.FunctionError(
            f"{transform.python} returned {type(made).__name__}, and has to return a DataFrame"
        )
    return made


def _view(frame: DataFrame, name: str, late: Watermark | None) -> DataFrame:
    if late is not None:
        frame = frame.withWatermark(late.column, f"{milliseconds(late.delay)} milliseconds")
    frame.createOrReplaceTempView(name)
    return frame
