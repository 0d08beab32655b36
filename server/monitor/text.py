"""Writes documents as JSON in steps, so that a page of many megabytes does not block the loop."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Any

from ...protocol import gojson

if TYPE_CHECKING:
    from ..slices import Steps

_COMPACT = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode
_ESCAPES = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"}
_CONTAINERS = frozenset({dict, list, tuple})
_FEW = 64
_PIECE = 8192  # characters


def compact(document: Any) -> Steps[bytes]:
    """Return the document as JSON without white space."""
    return _joined(_pieces(document))


def indented(document: Any) -> Steps[bytes]:
    """Return the document as JSON, indented by two, with the characters escaped that Go escapes."""
    return _joined(_lines(document, "\n"), escape=True)


def _joined(texts: Iterator[str], *, escape: bool = False) -> Steps[bytes]:
    pieces: list[bytes] = []
    some: list[str] = []
    size = 0
    for text in texts:
        some.append(text)
        size += len(text)
        if size >= _PIECE:
            pieces.append(_encoded("".join(some), escape=escape))
            some.clear()
            size = 0
            yield
    pieces.append(_encoded("".join(some), escape=escape))
    return b"".join(pieces)


def _encoded(text: str, *, escape: bool) -> bytes:
    if escape:
        text = text.translate(_ESCAPES)
    return gojson.utf8(text)


def _pieces(value: Any) -> Iterator[str]:
    """Yield the text of a value: small containers in one piece, larger ones in many."""
    if isinstance(value, dict):
        if _is_small(value.values()):
            yield _COMPACT(value)
            return
        before = "{"
        for key, item in value.items():
            yield f"{before}{_scalar(str(key))}:"
            yield from _pieces(item)
            before = ","
        yield "}" if value else "{}"
    elif isinstance(value, list | tuple):
        if _is_small(value):
            yield _COMPACT(value)
            return
        before = "["
        for item in value:
            yield before
            yield from _pieces(item)
            before = ","
        yield "]" if value else "[]"
    else:
        yield _scalar(value)


def _lines(value: Any, margin: str) -> Iterator[str]:
    inner = margin + "  "
    if isinstance(value, dict) and value:
        if _is_short(value.values()):
            items = [f"{inner}{_scalar(str(key))}: {_scalar(item)}" for key, item in value.items()]
            yield "{" + ",".join(items) + margin + "}"
            return
        before = "{"
        for key, item in value.items():
            yield f"{before}{inner}{_scalar(str(key))}: "
            yield from _lines(item, inner)
            before = ","
        yield margin + "}"
    elif isinstance(value, list | tuple) and value:
        before = "["
        for item in value:
            yield before + inner
            yield from _lines(item, inner)
            before = ","
        yield margin + "]"
    else:
        yield _scalar(value)


def _is_short(values: Collection[Any]) -> bool:
    """Whether there are few values, and no containers among them."""
    return len(values) <= _FEW and all(type(value) not in _CONTAINERS for value in values)


def _is_small(values: Collection[Any]) -> bool:
    """Whether there are few values, and all containers among them are short."""
    if len(values) > _FEW:
        return False
    return all(
        type(value) not in _CONTAINERS or _is_short(value.values() if type(value) is dict else value)
        for value in values
    )


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return encode_basestring(value)
    return str(value) if type(value) is int else _COMPACT(value)
