"""The steps that every table may go through: `decode`, `expect`, `mask` and `watermark`, in this order."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from .section import PipelineSection, Table, Text, milliseconds

FAIL: Final = "fail"
DROP: Final = "drop"
SAMPLE = 1000  # messages that a schema is found in, if nothing else is said
SHORTEST_SECRET = 16  # characters; what is shorter can be guessed by trying


class Decoding(PipelineSection):
    """How a column of bytes becomes columns.

    shape (`schema`): Spark's DDL for json and csv, Avro's JSON or the file with it for avro
    sample: find the schema in so many messages instead (json)
    into: put what is decoded into one column of this name
    keep: the columns that stay besides it; all but `column`, if it is not given
    """

    format: Literal["json", "csv", "avro", "protobuf"]
    shape: Text | None = Field(default=None, alias="schema")
    sample: int | None = Field(default=None, ge=1, le=1_000_000)
    message: Text | None = None
    descriptor: Text | None = None
    column: Text = "data"
    into: Table | None = None
    keep: list[Text] | None = None
    options: dict[str, str | int | float | bool] = Field(default_factory=dict)
    otherwise: Literal["fail", "drop"] = FAIL

    @model_validator(mode="after")
    def _validate(self) -> Decoding:
        if self.format == "protobuf":
            if not (self.message and self.descriptor) or self.shape or self.sample:
                raise ValueError("protobuf has message (its name) and descriptor (a file made by protoc)")
        elif self.message or self.descriptor:
            raise ValueError("message and descriptor are for protobuf")
        elif self.shape and self.sample:
            raise ValueError("has either schema or sample")
        elif self.format != "json" and (self.sample or not self.shape):
            what = (
                "such as 'a BIGINT, b STRING'" if self.format == "csv" else "Avro's JSON, or a file with it"
            )
            raise ValueError(f"{self.format} has a schema: {what}")
        return self

    @property
    def sampled(self) -> int:
        """How many messages the schema is found in; 0 if it is given."""
        return 0 if self.format != "json" or self.shape else self.sample or SAMPLE


class Expectation(PipelineSection):
    """A condition that every row should meet, and what becomes of a row that does not (or if it is NULL)."""

    sql: Text
    otherwise: Literal["fail", "drop", "warn"] = FAIL


class Masking(PipelineSection):
    """What a column is replaced by.

    method: `hmac` or `sha2` (hex, with a secret; equal values stay equal), `redact` (a text), `null`
    last: characters that stay at the end, for redact
    """

    method: Literal["hmac", "sha2", "redact", "null"]
    secret: Text | None = None
    text: str = "****"
    last: int = Field(default=0, ge=0, le=1000)

    @field_validator("secret")
    @classmethod
    def _validate_secret(cls, value: str | None) -> str | None:
        if value is not None and not value.startswith(("env://", "file://")):
            raise ValueError("is a reference to the secret: env://NAME or file://PATH")
        return value

    @model_validator(mode="after")
    def _validate(self) -> Masking:
        hashes = self.method in {"hmac", "sha2"}
        if hashes and not self.secret:
            raise ValueError(f"{self.method} has a secret, such as env://NAME: without one it can be guessed")
        if self.secret and not hashes:
            raise ValueError("secret is for hmac and sha2")
        if self.method != "redact" and {"last", "text"} & self.model_fields_set:
            raise ValueError("text and last are for redact")
        return self


class Watermark(PipelineSection):
    """How late a row may come: one whose `column` is older than the newest minus `delay` may be dropped."""

    column: Text
    delay: Text

    @field_validator("delay")
    @classmethod
    def _validate(cls, value: str) -> str:
        milliseconds(value)
        return value


def _named(key: str) -> Any:
    """Return a validator that takes a word for a section with that `key` alone."""

    def section(value: Any) -> Any:
        return {key: value} if isinstance(value, str) else value

    return BeforeValidator(section)


class TableSection(PipelineSection):
    """A table, and the steps that make it what others read."""

    decode: Annotated[Decoding, _named("format")] | None = None
    expect: dict[Table, Annotated[Expectation, _named("sql")]] = Field(default_factory=dict)
    mask: dict[Text, Annotated[Masking, _named("method")]] = Field(default_factory=dict)
    watermark: Watermark | None = None

    @property
    def drops(self) -> bool:
        """Whether rows may be dropped, which are then dead letters."""
        decoding = self.decode is not None and self.decode.otherwise == DROP
        return decoding or any(rule.otherwise == DROP for rule in self.expect.values())
