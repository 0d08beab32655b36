"""Declarations of the fields of a `Record`: one function for each kind of JSON value.

With `keep` a field is written even when it is empty. The functions return `Any`, because the annotation of
the attribute states the type.
"""

import dataclasses
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Callable, Generator, Mapping
from json import dumps
from typing import Any

from ..errors import ApiError
from ..timestamp import TimestampError, format_exact, format_rfc3339, parse_exact, parse_rfc3339
from .record import NUMBERS, JsonKind, Record, Schema, invalid_json, wrong_type


class _Kind:
    nested = False
    nullable = True

    def read(self, value: Any, where: str, strict: bool) -> Any:
        raise NotImplementedError

    def reading(self, value: Any, where: str, strict: bool) -> Generator[None, None, Any]:
        yield from ()
        return self.read(value, where, strict)

    def write(self, value: Any) -> Any:
        return value

    def writing(self, value: Any) -> Generator[None, None, Any]:
        yield from ()
        return self.write(value)

    def schema(self, *, answered: bool) -> Schema:
        raise NotImplementedError


class _Plain(_Kind):
    def is_empty(self, value: Any) -> bool:
        return not value


class _Text(_Plain):
    def read(self, value: Any, where: str, strict: bool) -> Any:
        if not isinstance(value, str):
            raise wrong_type(value, where, "string")
        return value

    def schema(self, *, answered: bool) -> Schema:
        return {"type": "string"}


class _Flag(_Plain):
    def read(self, value: Any, where: str, strict: bool) -> Any:
        if not isinstance(value, bool):
            raise wrong_type(value, where, "bool")
        return value

    def schema(self, *, answered: bool) -> Schema:
        return {"type": "boolean"}


class _Number(_Plain):
    def __init__(self, go_type: str) -> None:
        self.go_type = go_type
        self.low, self.high = NUMBERS[go_type]

    def read(self, value: Any, where: str, strict: bool) -> Any:
        if type(value) is not int or not self.low <= value <= self.high:
            raise wrong_type(value, where, self.go_type)
        return value

    def schema(self, *, answered: bool) -> Schema:
        return {"type": "integer", "minimum": self.low, "maximum": self.high}


class _Choice(_Plain):
    nullable = False

    def __init__(self, default: str, words: tuple[str, ...], alias: str | None, refusal: str) -> None:
        self.default = default
        self.words = words
        self.alias = alias
        self.refusal = refusal

    def read(self, value: Any, where: str, strict: bool) -> Any:
        if not isinstance(value, str) or value not in self.words:
            if self.alias is not None and value == self.alias:
                return self.default
            if self.refusal:
                raise invalid_json(f"{self.refusal}: {dumps(value)}")
            raise invalid_json(f"can not unmarshal {dumps(dumps(value))}")
        return value

    def is_empty(self, value: Any) -> bool:
        return value in {"", self.default}

    def schema(self, *, answered: bool) -> Schema:
        alias = () if self.alias is None or answered else (self.alias,)
        return {"type": "string", "enum": [*dict.fromkeys((*self.words, *alias))]}


class _Time(_Plain):
    def read(self, value: Any, where: str, strict: bool) -> Any:
        if not isinstance(value, str):
            raise wrong_type(value, where, "time.Time")
        try:
            return self.parse(value)
        except TimestampError:
            raise invalid_json(
                f'parsing time "{value}" as "2006-01-02T15:04:05Z07:00": cannot parse "{value}" as "2006"'
            ) from None

    def parse(self, text: str) -> int:
        return parse_rfc3339(text)

    def write(self, value: Any) -> Any:
        return format_rfc3339(value)

    def schema(self, *, answered: bool) -> Schema:
        return {"type": "string", "format": "date-time"}


class _Instant(_Time):
    """A time without a reserved value: 0 is the epoch, and None means that there is no time."""

    def parse(self, text: str) -> int:
        return parse_exact(text)

    def write(self, value: Any) -> Any:
        return format_exact(value)

    def is_empty(self, value: Any) -> bool:
        return value is None


class _Blob(_Plain):
    def read(self, value: Any, where: str, strict: bool) -> Any:
        if not isinstance(value, str):
            raise wrong_type(value, where, "[]uint8")
        try:
            return b64decode(value, validate=True)
        except Base64Error:
            raise invalid_json("illegal base64 data at input byte 0") from None

    def write(self, value: Any) -> Any:
        return b64encode(value).decode("ascii")

    def schema(self, *, answered: bool) -> Schema:
        return {"type": "string", "contentEncoding": "base64"}


class _Nested(_Kind):
    nested = True

    def __init__(self, record: type[Record], hide_empty: bool) -> None:
        self.record = record
        self.hide_empty = hide_empty

    def read(self, value: Any, where: str, strict: bool) -> Any:
        return self.record.from_json(value, strict=strict, where=where)

    def reading(self, value: Any, where: str, strict: bool) -> Generator[None, None, Any]:
        return self.record.reading(value, strict=strict, where=where)

    def write(self, value: Any) -> Any:
        return None if value is None else value.to_json()

    def writing(self, value: Any) -> Generator[None, None, Any]:
        return None if value is None else (yield from value.writing())

    def is_empty(self, value: Any) -> bool:
        return value is None or (self.hide_empty and not value.to_json())

    def schema(self, *, answered: bool) -> Schema:
        return self.record.schema(answered=answered)


class _Error(_Kind):
    def read(self, value: Any, where: str, strict: bool) -> Any:
        if not isinstance(value, Mapping):
            raise wrong_type(value, where, "server.ApiError")
        return ApiError.from_json(dict(value))

    def write(self, value: Any) -> Any:
        return value.to_json()

    def is_empty(self, value: Any) -> bool:
        return value is None

    def schema(self, *, answered: bool) -> Schema:
        whole = {"type": "integer"}
        fields = {"code": whole, "err_code": whole, "description": {"type": "string"}}
        return {"type": "object", "properties": fields, "required": ["code"]}


class _List(_Kind):
    def __init__(self, item: JsonKind, go_type: str, empty: Callable[[], Any]) -> None:
        self.item = item
        self.nested = item.nested
        self.go_type = go_type
        self.empty = empty

    def read(self, value: Any, where: str, strict: bool) -> Any:
        if not isinstance(value, list):
            raise wrong_type(value, where, self.go_type)
        if isinstance(self.item, _Text) and {*map(type, value)} == {str}:
            return list(value)  # a shortcut for the usual list, which may have thousands of strings
        return [
            self.empty() if item is None else self.item.read(item, f"{where}.{i}", strict)
            for i, item in enumerate(value)
        ]

    def reading(self, value: Any, where: str, strict: bool) -> Generator[None, None, Any]:
        if not isinstance(value, list) or not self.nested:
            return self.read(value, where, strict)
        made: list[Any] = []
        for i, item in enumerate(value):
            made.append(
                self.empty() if item is None else (yield from self.item.reading(item, f"{where}.{i}", strict))
            )
            yield
        return made

    def write(self, value: Any) -> Any:
        if isinstance(self.item, _Text):
            return list(value)
        return [self.item.write(item) for item in value]

    def writing(self, value: Any) -> Generator[None, None, Any]:
        if not self.nested:
            return self.write(value)
        made: list[Any] = []
        for item in value:
            made.append((yield from self.item.writing(item)))
            yield
        return made

    def is_empty(self, value: Any) -> bool:
        return not value

    def schema(self, *, answered: bool) -> Schema:
        return {"type": ["array", "null"], "items": self.item.schema(answered=answered)}


class _Map(_Kind):
    def __init__(self, item: JsonKind, go_type: str, empty: Callable[[], Any]) -> None:
        self.item = item
        self.nested = item.nested
        self.go_type = go_type
        self.empty = empty

    def read(self, value: Any, where: str, strict: bool) -> Any:
        if not isinstance(value, Mapping):
            raise wrong_type(value, where, self.go_type)
        if isinstance(self.item, _Text) and {*map(type, value.values())} == {str}:
            return dict(value)
        return {
            key: self.empty() if item is None else self.item.read(item, f"{where}.{key}", strict)
            for key, item in value.items()
        }

    def write(self, value: Any) -> Any:
        if isinstance(self.item, _Text):
            return dict(value)
        return {key: self.item.write(item) for key, item in value.items()}

    def is_empty(self, value: Any) -> bool:
        return not value

    def schema(self, *, answered: bool) -> Schema:
        return {"type": ["object", "null"], "additionalProperties": self.item.schema(answered=answered)}


def _field(kind: JsonKind, keep: bool, default: Any = dataclasses.MISSING, factory: Any = None) -> Any:
    metadata = {"kind": kind, "keep": keep}
    if factory is not None:
        return dataclasses.field(default_factory=factory, metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def text(default: str = "", *, keep: bool = False) -> Any:
    """Declare a string."""
    return _field(_Text(), keep, default)


def flag(default: bool = False, *, keep: bool = False) -> Any:
    """Declare a boolean."""
    return _field(_Flag(), keep, default)


def number(default: int = 0, *, keep: bool = False, go_type: str = "int64") -> Any:
    """Declare an integer with the range of `go_type`, a number type of Go."""
    return _field(_Number(go_type), keep, default)


def duration(default: int = 0, *, keep: bool = False) -> Any:
    """Declare a duration in nanoseconds."""
    return _field(_Number("time.Duration"), keep, default)


def time(*, keep: bool = False) -> Any:
    """Declare a time: nanoseconds since the epoch inside, RFC 3339 in JSON. 0 is the zero time."""
    return _field(_Time(), keep, 0)


def instant() -> Any:
    """Declare an optional time: nanoseconds since the epoch inside, RFC 3339 in JSON, None for no time."""
    return _field(_Instant(), False, None)


def choice(default: str, *words: str, keep: bool = False, alias: str | None = None, refusal: str = "") -> Any:
    """Declare one of some words. `default` counts as empty.

    `alias` is another word that is read as the default. `refusal` is the error text for any other word, if
    it is not the reference's usual one.
    """
    return _field(_Choice(default, words, alias, refusal), keep, default)


def blob(*, keep: bool = False) -> Any:
    """Declare bytes, base64 in JSON."""
    return _field(_Blob(), keep, b"")


def error() -> Any:
    """Declare an optional `ApiError`."""
    return _field(_Error(), False, None)


def texts(*, keep: bool = False) -> Any:
    """Declare a list of strings."""
    return _field(_List(_Text(), "[]string", str), keep, factory=list)


def numbers(*, keep: bool = False, go_type: str = "uint64") -> Any:
    """Declare a list of integers."""
    return _field(_List(_Number(go_type), f"[]{go_type}", int), keep, factory=list)


def text_map(*, keep: bool = False) -> Any:
    """Declare a map of strings to strings."""
    return _field(_Map(_Text(), "map[string]string", str), keep, factory=dict)


def number_map(*, keep: bool = False) -> Any:
    """Declare a map of strings to unsigned integers."""
    return _field(_Map(_Number("uint64"), "map[string]uint64", int), keep, factory=dict)


def record(cls: type[Record]) -> Any:
    """Declare an optional nested record. None is left out of the JSON."""
    return _field(_Nested(cls, False), False, None)


def part(cls: type[Record], *, keep: bool = True) -> Any:
    """Declare a nested record that is always there."""
    return _field(_Nested(cls, not keep), keep, factory=cls)


def records(cls: type[Record], *, keep: bool = False, pointers: bool = False) -> Any:
    """Declare a list of nested records. `pointers` decides how error texts name its type."""
    go_type = f"[]{'*' if pointers else ''}server.{cls.__name__}"
    return _field(_List(_Nested(cls, False), go_type, cls), keep, factory=list)


def record_map(cls: type[Record], *, keep: bool = False) -> Any:
    """Declare a map of strings to nested records."""
    return _field(_Map(_Nested(cls, False), f"map[string]server.{cls.__name__}", cls), keep, factory=dict)
