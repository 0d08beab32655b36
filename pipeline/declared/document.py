"""A pipeline's document: the sections and their keys as pydantic models. Keys are camelCase, as Spark's are.

The models validate each section by itself; `reading` validates what depends on several sections, and the
options of the data source. A `PipelineDocument` is frozen. Its repr and dumps hold secrets as they were
written: show and record only text from `secrets.masked`.
"""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator
from pydantic.alias_generators import to_camel

from ...protocol import duration

NAME = r"^[A-Za-z][A-Za-z0-9_-]{0,63}$"
TABLE = r"^[A-Za-z_][A-Za-z0-9_]*$"
BATCH, AVAILABLE_NOW = "batch", "availableNow"
FUNCTION = re.compile(r"^(?P<file>.+\.py|[A-Za-z_][\w.]*):(?P<name>[A-Za-z_]\w*)$")
SPAN = re.compile(r"^\s*(\d+)\s*(millisecond|second|minute|hour|day)s?\s*$")
UNITS_MS = {"millisecond": 1, "second": 1000, "minute": 60_000, "hour": 3_600_000, "day": 86_400_000}

Text = Annotated[str, Field(min_length=1)]
Table = Annotated[str, Field(pattern=TABLE)]
Option = str | int | float | bool | list[str | int] | dict[str, Any]


class PipelineSection(BaseModel):
    """A part of the document: unknown keys are mistakes, numbers may stand for text (a stream 2024)."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        alias_generator=to_camel,
        coerce_numbers_to_str=True,
        hide_input_in_errors=True,
    )

    @classmethod
    def keys(cls) -> list[str]:
        """Return the keys that this section may have."""
        return [field.alias or name for name, field in cls.model_fields.items()]


class Watermark(PipelineSection):
    """How late a row may come: one whose `column` is older than the newest minus `delay` may be dropped."""

    column: Text
    delay: Text

    @field_validator("delay")
    @classmethod
    def _validate(cls, value: str) -> str:
        milliseconds(value)
        return value


class SourceSection(PipelineSection):
    """A table of one or more streams. Other keys than these are options of the data source `jetstream`."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Option]

    domains: list[Text] | None = Field(default=None, min_length=1)
    watermark: Watermark | None = None

    @property
    def options(self) -> dict[str, Option]:
        """The options of the data source that the section gives."""
        return dict(self.__pydantic_extra__ or {})


class TransformSection(PipelineSection):
    """A table made of others: by a query, or by a Python function that takes DataFrames and returns one."""

    sql: Text | None = None
    python: Text | None = None
    inputs: list[Table] | None = Field(default=None, min_length=1)
    watermark: Watermark | None = None

    @field_validator("python")
    @classmethod
    def _validate_python(cls, value: str | None) -> str | None:
        if value is not None and not FUNCTION.match(value):
            raise ValueError("is module:function or FILE.py:function")
        return value

    @model_validator(mode="after")
    def _validate(self) -> TransformSection:
        if (self.sql is None) == (self.python is None):
            raise ValueError("has either sql or python")
        if self.sql is not None and self.inputs is not None:
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

    format: Literal["parquet", "json", "csv", "delta"]
    path: Text
    partition_by: list[Text] = Field(default_factory=list)


class JdbcSink(TableSink):
    """A table of a database. `user` and `password` may be references: env://NAME, file://PATH."""

    format: Literal["jdbc"]
    url: Annotated[str, Field(pattern=r"^jdbc:")]
    table: Text
    user: str = ""
    password: str = ""
    driver: str = ""


class ConsoleSink(SinkSection):
    """The terminal: the first `rows` of each batch."""

    format: Literal["console"]
    rows: int = Field(default=20, ge=1, le=10_000)
    truncate: int = Field(default=40, ge=0)


class StreamSink(SinkSection):
    """A stream. Other keys than these are options of the data source `jetstream`."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Option]

    format: Literal["jetstream"]

    @property
    def options(self) -> dict[str, Option]:
        """The options of the data source that the section gives."""
        return dict(self.__pydantic_extra__ or {})


AnySink = FolderSink | JdbcSink | ConsoleSink | StreamSink
SINKS: dict[str, type[SinkSection]] = {
    "parquet": FolderSink,
    "json": FolderSink,
    "csv": FolderSink,
    "delta": FolderSink,
    "jdbc": JdbcSink,
    "console": ConsoleSink,
    "jetstream": StreamSink,
}


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
    """A pipeline. `trigger` is `batch`, `availableNow`, or how often a batch of a continuous run begins."""

    name: Annotated[str, Field(pattern=NAME)]
    description: str = ""
    trigger: Text = AVAILABLE_NOW
    checkpoint: Text | None = None
    connection: dict[str, Option] = Field(default_factory=dict)
    sources: dict[Table, SourceSection] = Field(min_length=1)
    transforms: dict[Table, TransformSection] = Field(default_factory=dict)
    sinks: dict[Annotated[str, Field(pattern=NAME)], Annotated[AnySink, Field(discriminator="format")]] = (
        Field(min_length=1)
    )
    spark: Spark = Field(default_factory=Spark)

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


def milliseconds(text: str) -> int:
    """Return a span such as `10 seconds` or `1m30s` in milliseconds.

    Raises ValueError that says what is understood.
    """
    found = SPAN.match(text)
    if found:
        return int(found.group(1)) * UNITS_MS[found.group(2)]
    try:
        span = duration.parse(text)
    except duration.DurationError:
        span = -1
    if span < 0:
        raise ValueError(f'"{text}" is no span of time such as "10 seconds", "5m" or "1h30m"')
    return span // 1_000_000


def option_text(value: Option) -> str:
    """Return an option's value as the data source reads it: lists with commas, maps as JSON, true, false."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ",".join(str(item) for item in value)
    return json.dumps(value) if isinstance(value, dict) else str(value)
