"""JSON as Go writes and reads it.

The writer adds no blanks and writes UTF-8 as it is, but escapes ``< > &`` and the line separators. The reader
replaces bytes that are not UTF-8, and lone surrogates, by U+FFFD. It bounds the nesting, refuses ``NaN``, and
raises errors with the reference's texts, which have the offset of the byte after the wrong one.
"""

import json
import re
from typing import Any, NoReturn

MAX_DEPTH = 500  # far beyond any request; below what the interpreter's stack allows
# Reading must not take long, whoever sent the text. These bound its bytes, and its commas and brackets, which
# stand for the number of values.
MAX_BYTES = 1 << 20
MAX_VALUES = 20_000

_ENCODE = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_ESCAPES = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"}
_SURROGATE = re.compile("[\ud800-\udfff]")
_LITERALS = {"t": "true", "f": "false", "n": "null"}
_AFTER = {
    "Expecting ':' delimiter": "after object key",
    "Expecting property name enclosed in double quotes": "looking for beginning of object key string",
    "Illegal trailing comma before end of object": "looking for beginning of object key string",
    "Illegal trailing comma before end of array": "looking for beginning of value",
    "Invalid control character at": "in string",
}


class JsonError(ValueError):
    """The text is not JSON."""


def encode(value: Any) -> bytes:
    """Return a JSON value as UTF-8. Lone surrogates, which UTF-8 cannot carry, become U+FFFD."""
    return utf8(_ENCODE(value).translate(_ESCAPES))


def utf8(text: str) -> bytes:
    """Return JSON text as UTF-8, with U+FFFD for each lone surrogate.

    Bytes that were not UTF-8 when they were decoded are such surrogates, too.
    """
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _SURROGATE.sub("\ufffd", text).encode()


def _no_constant(name: str) -> NoReturn:
    raise JsonError(f"invalid character '{name.lstrip('-')[0]}' looking for beginning of value")


_DECODE = json.JSONDecoder(parse_constant=_no_constant).decode


def decode(data: bytes, most: int = MAX_BYTES) -> Any:
    """Read a JSON value of at most so many bytes. Raises JsonError, and nothing else, whatever they are."""
    if len(data) > most:
        raise JsonError(f"exceeded max size of {most} bytes")
    if data.count(b",") + data.count(b"[") + data.count(b"{") > MAX_VALUES:
        if _depth(data[:MAX_VALUES].decode("latin-1")) > MAX_DEPTH:  # brackets are ASCII
            raise JsonError("exceeded max depth")
        raise JsonError(f"exceeded max number of {MAX_VALUES} values")
    text = data.decode("utf-8", "replace")
    if text.count("[") + text.count("{") > MAX_DEPTH and _depth(text) > MAX_DEPTH:
        raise JsonError("exceeded max depth")
    try:
        value = _DECODE(text)
    except json.JSONDecodeError as error:
        raise JsonError(_explain(text, error)) from None
    except JsonError:
        raise
    except ValueError as error:  # an integer of thousands of digits
        raise JsonError(f"invalid number: {error}") from None
    return _whole(value) if "\\ud" in text or "\\uD" in text else value


def _depth(text: str) -> int:
    """Return an upper bound of the nesting, at most `MAX_DEPTH` + 1. Brackets in strings count, too."""
    depth = deepest = 0
    for letter in re.findall(r"[\[{}\]]", text):
        depth += 1 if letter in "[{" else -1
        if depth > deepest:
            deepest = depth
            if deepest > MAX_DEPTH:
                break
    return deepest


def _whole(value: Any) -> Any:
    """Return the value with lone surrogates replaced in all strings."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_whole(item) for item in value]
    if isinstance(value, dict):
        return {_whole(key): _whole(item) for key, item in value.items()}
    return value


def _explain(text: str, error: json.JSONDecodeError) -> str:
    """Return what is wrong in the reference's words, as far as the position allows."""
    at = error.pos
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    if at >= len(text) or error.msg.startswith("Unterminated string"):
        return "unexpected EOF"
    if error.msg.startswith("Illegal trailing comma"):
        at = at + len(text[at:]) - len(text[at:].lstrip(", \t\r\n"))
    if error.msg.startswith("Expecting ',' delimiter"):
        where = "after object key:value pair" if _in_object(text, at) else "after array element"
    elif error.msg.startswith("Invalid \\"):
        return f"invalid escape sequence `{text[at : at + 2]}` in string at offset {_offset(text, at) + 1}"
    elif (literal := _LITERALS.get(text[at], "")) and error.msg == "Expecting value":
        while at < len(text) and literal.startswith(text[error.pos : at + 1]):
            at += 1
        if at >= len(text):
            return "unexpected EOF"
        where = f"in literal {literal} (expecting '{literal[at - error.pos]}')"
    else:
        where = _AFTER.get(error.msg, "looking for beginning of value")
    return f"invalid character {_quote(text[at])} {where} at offset {_offset(text, at)}"


def _offset(text: str, at: int) -> int:
    return len(text[: at + 1].encode("utf-8", "replace"))


def _quote(letter: str) -> str:
    return repr(letter) if letter != "'" else r"'\''"


def _in_object(text: str, at: int) -> bool:
    """Return whether the innermost bracket open at `at` is a brace."""
    bare = re.sub(r'"(?:[^"\\]|\\.)*"', "", text[:at])
    stack: list[str] = []
    for letter in re.findall(r"[\[{}\]]", bare):
        if letter in "[{":
            stack.append(letter)
        elif stack:
            stack.pop()
    return bool(stack) and stack[-1] == "{"
