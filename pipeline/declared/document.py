"""A pipeline's document: the sections and their keys as pydantic models. Keys are camelCase, as Spark's are.

The models validate each section by itself; `reading` validates what depends on several sections, and the
options of the data source. A `PipelineDocument` is frozen. Its repr and dumps hold secrets as they were
written: show and record only text from `secrets.masked`.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Final, Literal

from pydantic import ConfigDict, Discriminator, Field, Tag, field_validator, model_validator

from ...cli.errors import close_matches
from .section import Option, PipelineSection, Table, Text, milliseconds
from .table_steps import TableSection

NAME = r"^[A-Za-z][A-Za-z0-9_-]{0,63}$"
BATCH, AVAILABLE_NOW = "batch", "availableNow"
FUNCTION = re.compile(r"^(?P<file>.+\.py|[A-Za-z_][\w.]*):(?P<name>[A-Za-z_]\w*)$")
FORMAT = r"^[A-Za-z][\w.-]*$"
ICEBERG_TABLE = r"^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*){2,}$"
FOLDERS = ("parquet", "json", "csv", "orc", "avro", "text", "xml", "delta")
STREAM: Final = "jetstream"
OTHER = "spark"  # every format that has no section of its own
# Formats that people write: what is nearly one of them is a mistake, and anything else is Spark's to know.
KNOWN = (*FOLDERS, "jdbc", "console", STREAM, "kafka", "iceberg")
STREAMED = (STREAM, "kafka")  # read as streams, if nothing else is said
DEAD_LETTERS = "deadLetters"  # the table of all rows that were dropped, for sinks


class OptionsSection(PipelineSection):
    """A section whose other keys are options of the data source `jetstream`."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Option]

    @property
    def options(self) -> dict[str, Option]:
        """The options of the data source that the section gives."""
        return dict(self.__pydantic_extra__ or {})


class SourceSection(TableSection, OptionsSection):
    """A table of one or more streams. Other keys than these are options of the data source `jetstream`.

    role (`as`): `stream`, or `table` to read it as it is when the run starts, to join others with
    """

    format: Literal["jetstream"] = STREAM
    role: Literal["stream", "table"] | None = Field(default=None, alias="as")
    domains: list[Text] | None = Field(default=None, min_length=1)


class SparkSource(TableSection):
    """A table of any other format that Spark reads: files, a database, a table of a catalog, a Kafka topic.

    role (`as`): `table`, which is read as a whole, or `stream`
    shape (`schema`): Spark's DDL; needed for a stream of files
    """

    format: Annotated[str, Field(pattern=FORMAT)]
    role: Literal["stream", "table"] | None = Field(default=None, alias="as")
    path: Text | None = None
    table: Text | None = None
    shape: Text | None = Field(default=None, alias="schema")
    options: dict[str, str | int | float | bool] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _validate(self) -> SparkSource:
        if self.path and self.table:
            raise ValueError("has either path or table")
        return self


def _source(value: Any) -> str:
    """Return which kind of source this is; a word that is none for a format that is misspelt."""
    given = value.get("format", STREAM) if isinstance(value, dict) else getattr(value, "format", STREAM)
    return STREAM if given == STREAM else _kind(given)


def _kind(given: Any) -> str:
    if not isinstance(given, str) or given in KNOWN or not close_matches(given, KNOWN):
        return OTHER
    return given


AnySource = SourceSection | SparkSource
_Source = Annotated[
    Annotated[SourceSection, Tag(STREAM)] | Annotated[SparkSource, Tag(OTHER)], Discriminator(_source)
]


class TransformSection(TableSection):
    """A table made of others: by a query, by a Python function of DataFrames, or of one table by steps alone.

    origin (`from`): that table
    """

    sql: Text | None = None
    python: Text | None = None
    origin: Table | None = Field(default=None, alias="from")
    inputs: list[Table] | None = Field(default=None, min_length=1)

    @field_validator("python")
    @classmethod
    def _validate_python(cls, value: str | None) -> str | None:
        if value is not None and not FUNCTION.match(value):
            raise ValueError("is module:function or FILE.py:function")
        return value

    @model_validator(mode="after")
    def _validate(self) -> TransformSection:
        if sum(each is not None for each in (self.sql, self.python, self.origin)) != 1:
            raise ValueError("has either sql or python, or from and a step such as decode")
        if self.python is None and self.inputs is not None:
            raise ValueError("inputs are for python: a query names its tables itself")
        return self


class SinkSection(PipelineSection):
    """A sink: where the rows of the table `from` (`origin` here) are written."""

    origin: Table = Field(alias="from")
    output_mode: Literal["append", "update", "complete"] = "append"


class TableSink(SinkSection):
    """A sink that may exist already when a batch is written."""

    mode: Literal["append", "overwrite", "ignore", "error"] | None = None
    options: dict[str, str | int | float | bool] = Field(default_factory=dict)


class FolderSink(TableSink):
    """A folder of files, or a Delta table. `path` is relative to the document, or a URL such as s3a://…."""

    format: Literal["parquet", "json", "csv", "orc", "avro", "text", "xml", "delta"]
    path: Text
    partition_by: list[Text] = Field(default_factory=list)


class IcebergSink(TableSink):
    """An Iceberg table, `catalog.namespace.name`.

    `warehouse` is the folder of its catalog, relative to the document or a URL; without it spark.conf names
    the catalog.
    """

    format: Literal["iceberg"]
    table: Annotated[str, Field(pattern=ICEBERG_TABLE)]
    warehouse: Text | None = None
    partition_by: list[Text] = Field(default_factory=list)

    @property
    def catalog(self) -> str:
        """The catalog's name in Spark."""
        return self.table.partition(".")[0]


class JdbcSink(TableSink):
    """A table of a database. `user` and `password` may be references: env://NAME, file://PATH.

    key: columns by which a row replaces an earlier one; without it rows are appended
    newest: of rows of a batch with the same key, take the one in which this column is greatest
    """

    format: Literal["jdbc"]
    url: Annotated[str, Field(pattern=r"^jdbc:")]
    table: Text
    user: str = ""
    password: str = ""
    driver: str = ""
    key: list[Text] = Field(default_factory=list)
    newest: Text | None = None

    @model_validator(mode="after")
    def _validate(self) -> JdbcSink:
        if self.newest and not self.key:
            raise ValueError("newest goes with key")
        if self.key and self.mode not in {None, "append"}:
            raise ValueError("has either key, by which rows replace others, or mode")
        return self


class ConsoleSink(SinkSection):
    """The terminal: the first `rows` of each batch."""

    format: Literal["console"]
    rows: int = Field(default=20, ge=1, le=10_000)
    truncate: int = Field(default=40, ge=0)


class StreamSink(SinkSection, OptionsSection):
    """A stream. Other keys than these are options of the data source `jetstream`."""

    format: Literal["jetstream"]


class SparkSink(TableSink):
    """Any other format that Spark writes, such as kafka: to a path, a catalog's table, or neither."""

    format: Annotated[str, Field(pattern=FORMAT)]
    path: Text | None = None
    table: Text | None = None
    partition_by: list[Text] = Field(default_factory=list)

    @model_validator(mode="after")
    def _validate(self) -> SparkSink:
        if self.path and self.table:
            raise ValueError("has either path or table")
        return self


AnySink = FolderSink | IcebergSink | JdbcSink | ConsoleSink | StreamSink | SparkSink
SINKS: dict[str, type[SinkSection]] = {
    **dict.fromkeys(FOLDERS, FolderSink),
    "iceberg": IcebergSink,
    "jdbc": JdbcSink,
    "console": ConsoleSink,
    STREAM: StreamSink,
}


def sink_section(given: object) -> type[SinkSection]:
    """Return the section of a sink with this format."""
    return SINKS.get(given, SparkSink) if isinstance(given, str) else SparkSink


def _sink(value: Any) -> str | None:
    """Return which kind of sink this is; None without a format, a word that is none for a misspelt one."""
    given = value.get("format") if isinstance(value, dict) else getattr(value, "format", None)
    if not isinstance(value, dict) and given is None:
        return OTHER
    if given is None:
        return None
    return sink_section(given).__name__ if given in SINKS else _kind(given)


_Sink = Annotated[
    Annotated[FolderSink, Tag("FolderSink")]
    | Annotated[IcebergSink, Tag("IcebergSink")]
    | Annotated[JdbcSink, Tag("JdbcSink")]
    | Annotated[ConsoleSink, Tag("ConsoleSink")]
    | Annotated[StreamSink, Tag("StreamSink")]
    | Annotated[SparkSink, Tag(OTHER)],
    Discriminator(_sink),
]
TAGS = (STREAM, OTHER, *(each.__name__ for each in SINKS.values()))


class Spark(PipelineSection):
    """The session: where it runs, what it loads, its settings."""

    master: Text | None = None
    remote: Annotated[str, Field(pattern=r"^sc://")] | None = None
    packages: list[Text] = Field(default_factory=list)
    jars: list[Text] = Field(default_factory=list)
    conf: dict[str, str | int | float | bool] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _validate(self) -> Spark:
        if self.master and self.remote:
            raise ValueError("has either master or remote")
        return self


class PipelineDocument(PipelineSection):
    """A pipeline.

    `trigger` is `batch`, `availableNow`, or how often a batch of a continuous run begins; `metrics` is where
    a run serves its figures, as PORT or HOST:PORT.
    """

    name: Annotated[str, Field(pattern=NAME)]
    description: str = ""
    trigger: Text = AVAILABLE_NOW
    checkpoint: Text | None = None
    connection: dict[str, Option] = Field(default_factory=dict)
    sources: dict[Table, _Source] = Field(min_length=1)
    transforms: dict[Table, TransformSection] = Field(default_factory=dict)
    sinks: dict[Annotated[str, Field(pattern=NAME)], _Sink] = Field(min_length=1)
    spark: Spark = Field(default_factory=Spark)
    metrics: Annotated[str, Field(pattern=r"^(\S+:)?\d{1,5}$")] | None = None

    @field_validator("trigger")
    @classmethod
    def _validate_trigger(cls, value: str) -> str:
        if value not in {BATCH, AVAILABLE_NOW}:
            milliseconds(value)
        return value

    @property
    def continuous(self) -> bool:
        """Whether a run continues until it is stopped."""
        return self.trigger not in {BATCH, AVAILABLE_NOW}

    def streams(self, name: str) -> bool:
        """Return whether the source of this name is read as a stream, in batches."""
        source = self.sources[name]
        if self.trigger == BATCH:
            return False
        return source.role == "stream" if source.role else source.format in STREAMED

    @property
    def drops(self) -> bool:
        """Whether a table may drop rows, so that there are dead letters."""
        return any(table.drops for table in (*self.sources.values(), *self.transforms.values()))
