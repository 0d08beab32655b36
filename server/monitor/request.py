"""Reads the request for a document, from an HTTP query or a JSON object, into its dataclass.

A field's metadata has its name in both: `asked("auth", json="auth")`. Unknown names are ignored, as in
nats-server.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, field, fields
from typing import Any, TypeVar

T = TypeVar("T")
_TRUE = ("1", "t", "T", "TRUE", "true", "True")
_FALSE = ("0", "f", "F", "FALSE", "false", "False")


class RequestError(Exception):
    """A request that cannot be answered."""


class MalformedRequestError(RequestError):
    """A request that cannot be parsed."""


class OthersAskedError(RequestError):
    """A request for other servers than this one, which stays silent where they can answer."""


def asked(default: Any, query: str, json: str = "") -> Any:
    """Return a field that the query parameter `query` sets, or the JSON member `json`, by default `query`."""
    return field(default=default, metadata={"query": query, "json": json or query})


def from_query(cls: type[T], query: Mapping[str, str]) -> T:
    """Return the request in an HTTP query. Raises RequestError for an invalid value."""
    made = cls()
    for each in fields(cls):  # type: ignore[arg-type]
        text = query.get(each.metadata["query"])
        if text:
            setattr(made, each.name, _parse(each, text))
    return made


def from_json(cls: type[T], body: Mapping[str, Any]) -> T:
    """Return the request in a JSON object. Raises MalformedRequestError for a value of the wrong type."""
    made = cls()
    for each in fields(cls):  # type: ignore[arg-type]
        value = body.get(each.metadata["json"])
        if value is None:
            continue
        if type(value) is not type(each.default):
            raise MalformedRequestError(f"wrong type for {each.metadata['json']!r}")
        setattr(made, each.name, value)
    return made


def _parse(each: Field[Any], text: str) -> Any:
    name = each.metadata["query"]
    if isinstance(each.default, bool):
        if text in _TRUE:
            return True
        if text in _FALSE:
            return False
        raise RequestError(
            f"Error decoding boolean for '{name}': strconv.ParseBool: parsing \"{text}\": invalid syntax"
        )
    if isinstance(each.default, int):
        try:
            return int(text)
        except ValueError:
            raise RequestError(
                f"Error decoding int for '{name}': strconv.Atoi: parsing \"{text}\": invalid syntax"
            ) from None
    return text


def page(items: list[T], offset: int, limit: int) -> list[T]:
    """Return the requested part of a list. A limit of 0 or less means the default of 1024."""
    start = max(0, offset)
    return items[start : start + (limit if limit > 0 else DEFAULT_LIMIT)]


DEFAULT_LIMIT = 1024
