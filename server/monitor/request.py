"""Reads a request for a document into its dataclass, from an HTTP query or from a JSON object.

Each field is declared by `asked`, with its name in the query and, if that differs, in JSON. Unknown names are
ignored, as in nats-server.
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


class NotForThisServerError(RequestError):
    """A request that other servers answer, such as one for the leader of the meta group.

    Over the system account this server then sends nothing. Over HTTP it answers with the error.
    """


def asked(default: Any, query: str, json: str = "") -> Any:
    """Return a dataclass field for a request.

    default: the value of a request without it. Its type is the type that JSON must have.
    query: the name of the parameter in a query.
    json: the name of the member in a JSON object; "" if that is the same.
    """
    return field(default=default, metadata={"query": query, "json": json or query})


def from_query(cls: type[T], query: Mapping[str, str]) -> T:
    """Return the request that an HTTP query makes. Raises RequestError for an invalid value."""
    made = cls()
    for each in fields(cls):  # type: ignore[arg-type]
        text = query.get(each.metadata["query"])
        if text:
            setattr(made, each.name, _parse(each, text))
    return made


def from_json(cls: type[T], body: Mapping[str, Any]) -> T:
    """Return the request that a JSON object makes. Raises MalformedRequestError for a wrong type."""
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
