"""What all sections of documents are made of: spans of time, sizes, limits, names, and the base class."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from ..protocol import duration, size
from ..protocol.timestamp import TimestampError, parse_exact

NAME = r"^[^\s.*>/\\]{1,255}$"
SPAN_TEXT = {"type": "string", "pattern": r"^([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h|d|D|w|W|M|y|Y))+$|^0$"}
SIZE_TEXT = {"type": "string", "pattern": r"^[0-9]+([KMGTkmgt]([iI]?[bB])?|[bB])?$|^-1$"}


def read_span(value: Any) -> Any:
    """Return a span of time in nanoseconds. Raises ValueError for a text that is none."""
    return duration.parse(value) if isinstance(value, str) else value


def read_size(value: Any) -> Any:
    """Return a number of bytes. Raises ValueError for a text that is none."""
    return size.parse(value) if isinstance(value, str) else value


def _instant(value: Any) -> Any:
    if isinstance(value, datetime):
        raise ValueError("has to be in quotes: YAML's own times know no nanoseconds")  # noqa: TRY004 - pydantic's
    try:
        parse_exact(value)
    except (TimestampError, TypeError):
        raise ValueError("is no time such as 2026-01-31T12:00:00Z") from None
    return value


Span = Annotated[
    int,
    Field(strict=True, ge=0, le=duration.MAX),
    BeforeValidator(read_span),
    WithJsonSchema({"anyOf": [SPAN_TEXT, {"type": "integer", "minimum": 0}]}),
]
Size = Annotated[
    int,
    Field(strict=True, ge=-1, le=size.MAX),
    BeforeValidator(read_size),
    WithJsonSchema({"anyOf": [SIZE_TEXT, {"type": "integer", "minimum": -1}]}),
]
Limit = Annotated[int, Field(strict=True, ge=-1, lt=1 << 63)]
Count = Annotated[int, Field(strict=True, ge=0, lt=1 << 63)]
Instant = Annotated[str, BeforeValidator(_instant), WithJsonSchema({"type": "string", "format": "date-time"})]
Name = Annotated[str, Field(pattern=NAME)]


class ProvisionSection(BaseModel):
    """A part of a document. `model_fields_set` says what it gives."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, use_attribute_docstrings=True, hide_input_in_errors=True
    )
