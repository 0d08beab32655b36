"""Values of the API as people write them in documents: spans and sizes as texts, origins as names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .model import SIZES, SPANS
from .units import size_value, span_text

Json = dict[str, Any]


def written(fields: Mapping[str, Any], without: set[str]) -> Json:
    """Return fields as people write them: spans and sizes as texts, origins as names where that is all."""
    found: Json = {}
    for name, value in fields.items():
        if name in without or value in ("", 0, None, [], {}):  # as if it were not there
            continue
        found[name] = value_of(name, value)
    return found


def value_of(name: str, value: Any) -> Any:
    """Return the value of a field as people write it."""
    if name in SPANS and isinstance(value, int) and value:
        return span_text(value)
    if name in SPANS and isinstance(value, list):
        return [span_text(each) for each in value]
    if name in SIZES and isinstance(value, int):
        return size_value(value)
    if name == "mirror":
        return _origin(value)
    if name == "sources":
        return [_origin(each) for each in value]
    if name == "consumer_limits":
        return written(value, set())
    return value


def _origin(origin: Json) -> Json | str:
    found = written(origin, set())
    external = found.get("external") or {}
    parts = str(external.get("api", "")).split(".")
    if not external.get("deliver") and len(parts) == 3 and (parts[0], parts[2]) == ("$JS", "API"):
        del found["external"]
        found = {"name": found.pop("name"), "domain": parts[1], **found}
    return str(found["name"]) if list(found) == ["name"] else found
