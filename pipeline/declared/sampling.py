"""Schemas found in messages: by `decode: json` without a schema, from the first messages of a stream.

A streaming run keeps what it found beside its checkpoint, and each later run of that checkpoint takes it: a
table does not change its columns because other messages come first.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from . import formats, options
from .decoding import StepError, require
from .document import SourceSection
from .reading import LoadedDocument
from .table_steps import Decoding

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FOLDER = ".schemas"  # in the checkpoint; no sink has such a name
# The options of a source that say which messages it has, and not how a stream of them is read.
WHICH = {"stream", "streams", "streampattern", "bucket", "subjects", "includeheaders"}


def schema(frame: DataFrame, how: Decoding) -> str:
    """Return the schema, as Spark's DDL, of the JSON in the first rows of a batch table.

    Raises StepError if they hold no JSON objects.
    """
    from pyspark.sql import functions

    require(frame, how.column)
    rows = frame.select(functions.col(f"`{how.column}`").cast("string").alias("value")).take(how.sampled)
    spark = frame.sparkSession
    found = spark.read.json(spark.createDataFrame(rows, "value STRING")).schema.fields if rows else []
    fields = [each for each in found if each.name != "_corrupt_record"]
    if not fields:
        said = f"the first {len(rows):,} rows hold no JSON objects" if rows else "there are no messages yet"
        raise StepError(
            f"{said}: no schema is found", "schema: gives one, such as 'item STRING, cents BIGINT'"
        )
    return ", ".join(f"`{each.name}` {each.dataType.simpleString()}" for each in fields)


def first_messages(spark: SparkSession, loaded: LoadedDocument, name: str) -> DataFrame:
    """Return a source as a batch table that begins with the first messages of its first stream."""
    source = loaded.document.sources[name]
    if not isinstance(source, SourceSection):
        return formats.read(spark, source, loaded.folder, stream=False)
    given = options.of_source(loaded.document, name, loaded.overlay)[0]
    kept = {key: text for key, text in given.items() if key.lower() in WHICH | options.CONNECTING}
    return spark.read.format("jetstream").options(**kept).load()


def remembered(checkpoint: str, name: str) -> str:
    """Return the schema that an earlier run of this checkpoint found for a table, "" if there is none."""
    file = _file(checkpoint, name)
    return file.read_text(encoding="utf-8") if file is not None and file.is_file() else ""


def remember(checkpoint: str, name: str, found: str) -> None:
    """Keep the schema of a table. Raises StepError if the checkpoint is not in a folder of this machine."""
    file = _file(checkpoint, name)
    if file is None:
        raise StepError(
            f"a schema that is found cannot be kept beside the checkpoint {checkpoint}",
            f'give decode the one that was found, schema: "{found}"',
        )
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(f".{file.name}")
    draft.write_text(found, encoding="utf-8")
    draft.replace(file)


def _file(checkpoint: str, name: str) -> Path | None:
    return None if "://" in checkpoint else Path(checkpoint) / FOLDER / f"{name}.ddl"
