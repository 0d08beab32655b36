"""Validation of JSON by the part of JSON Schema that `messages` uses.

Promises: all mistakes are found, each with the path of the value that is wrong; nothing else is read or run.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...protocol.api.record import Schema
from ...protocol.timestamp import TimestampError, parse_rfc3339

TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "boolean": bool,
    "null": type(None),
}


def mistakes(value: Any, schema: Schema, path: str = "") -> Iterator[str]:
    """Yield what is wrong with a value, in words."""
    kinds = schema.get("type")
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(_is_a(value, kind) for kind in kinds):
        yield f"{path or '(root)'}: expected {' or '.join(kinds)}, but got {_name(value)}"
        return
    yield from (f"{path or '(root)'}: {text}" for text in _wrong(value, schema))
    if isinstance(value, dict):
        yield from _of_object(value, schema, path)
    elif isinstance(value, list) and "items" in schema:
        for place, item in enumerate(value):
            yield from mistakes(item, schema["items"], f"{path}/{place}")
    branches = [list(mistakes(value, branch, path)) for branch in schema.get("anyOf", ())]
    if branches and all(branches):
        yield from branches[-1]


def _is_a(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, TYPES[kind])


def _name(value: Any) -> str:
    if isinstance(value, float):
        return "number"
    return next(kind for kind in TYPES if _is_a(value, kind))


def _wrong(value: Any, schema: Schema) -> Iterator[str]:
    """Yield what is wrong with a value of the right type."""
    if "const" in schema and value != schema["const"]:
        yield f"expected {schema['const']!r}, but got {value!r}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{value!r} is none of {', '.join(map(repr, schema['enum']))}"
    if "minimum" in schema and value < schema["minimum"]:
        yield f"{value} is below {schema['minimum']}"
    if "maximum" in schema and value > schema["maximum"]:
        yield f"{value} is above {schema['maximum']}"
    if schema.get("format") == "date-time":
        try:
            parse_rfc3339(value)
        except TimestampError:
            yield f"{value!r} is no RFC 3339 time"


def _of_object(value: dict[str, Any], schema: Schema, path: str) -> Iterator[str]:
    yield from (f"{path}/{name} is required" for name in schema.get("required", ()) if name not in value)
    known = schema.get("properties", {})
    for name, item in value.items():
        inner = known.get(name, schema.get("additionalProperties"))
        if isinstance(inner, dict):
            yield from mistakes(item, inner, f"{path}/{name}")
