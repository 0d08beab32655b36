"""What all sections of a pipeline's document have in common: strict keys, and how their values are read."""

from __future__ import annotations

import json
import re
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from ...protocol import duration

TABLE = r"^[A-Za-z_][A-Za-z0-9_]*$"
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
