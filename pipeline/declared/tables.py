"""From a document to DataFrames: each source and transform is a table, and a view that queries name."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...documents.located_yaml import Path, dotted
from . import failure, functions, options
from .document import BATCH, PipelineDocument, TransformSection, Watermark, milliseconds
from .reading import LoadedDocument

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


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


def build(spark: SparkSession, loaded: LoadedDocument) -> dict[str, DataFrame]:
    """Make all tables by name, lazily: nothing is read yet. Raises RunError."""
    tables: dict[str, DataFrame] = {}
    document = loaded.document
    for name, source in document.sources.items():
        path: Path = ("sources", name)
        try:
            frames = _frames(spark, document, name, loaded.overlay)
            tables[name] = _view(functools.reduce(_union, frames), name, source.watermark)
        except Exception as error:
            raise failed(loaded, path, error) from error
    for name, transform in document.transforms.items():
        path = ("transforms", name, "sql" if transform.sql is not None else "python")
        try:
            made = _made(spark, transform, tables, loaded)
            tables[name] = _view(made, name, transform.watermark)
        except RunError:
            raise
        except Exception as error:
            raise failed(loaded, path, error) from error
    return tables


def _frames(
    spark: SparkSession, document: PipelineDocument, name: str, overlay: options.Overlay
) -> list[DataFrame]:
    """Return a source's streams: one table for each domain."""
    return [
        (spark.read if document.trigger == BATCH else spark.readStream)
        .format("jetstream")
        .options(**each)
        .load()
        for each in options.of_source(document, name, overlay)
    ]


def _union(one: DataFrame, other: DataFrame) -> DataFrame:
    return one.unionByName(other)


def _made(
    spark: SparkSession, transform: TransformSection, tables: Mapping[str, DataFrame], loaded: LoadedDocument
) -> DataFrame:
    from pyspark.sql import DataFrame

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
