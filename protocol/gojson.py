"""JSON as Go writes and reads it.

Written: no blanks, UTF-8 as it is, but ``< > &`` and the line separators escaped. Read: what is not UTF-8,
and lone surrogates, become U+FFFD; nesting is bounded; ``NaN`` is no JSON; errors have the reference's texts,
with the offset of the byte after the wrong one.
"""

import json
import re
from typing import Any, NoReturn

MAX_DEPTH = 500  # far beyond any request; below what the interpreter's stack allows
# Reading must not take long, whoever sends it: so many bytes, and so many commas and brackets, by which the
# values are counted.
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
    """The text is no JSON."""


def encode(value: Any) -> bytes:
    """Write a JSON value; lone surrogates, which UTF-8 can't carry, become U+FFFD."""
    return utf8(_ENCODE(value).translate(_ESCAPES))


def utf8(text: str) -> bytes:
    """Give JSON text as UTF-8, with U+FFFD for each lone surrogate: what came as bytes that are none, too."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _SURROGATE.sub("\ufffd", text).encode()


def _no_constant(name: str) -> NoReturn:
    raise JsonError(f"invalid character '{name.lstrip('-')[0]}' looking for beginning of value")


_DECODE = json.JSONDecoder(parse_constant=_no_constant).decode


def decode(data: bytes) -> Any:
    """Read a JSON value. Raises JsonError, and nothing else, whatever the bytes are."""
    if len(data) > MAX_BYTES:
        raise JsonError(f"exceeded max size of {MAX_BYTES} bytes")
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
    """Give an upper bound of the nesting, as far as it matters: brackets in strings count too."""
    depth = deepest = 0
    for letter in re.findall(r"[\[{}\]]", text):
        depth += 1 if letter in "[{" else -1
        if depth > deepest:
            deepest = depth
            if deepest > MAX_DEPTH:
                break
    return deepest


def _whole(value: Any) -> Any:
    """Replace lone surrogates in all strings."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_whole(item) for item in value]
    if isinstance(value, dict):
        return {_whole(key): _whole(item) for key, item in value.items()}
    return value


def _explain(text: str, error: json.JSONDecodeError) -> str:
    """Say what is wrong in the reference's words, as near as the position allows."""
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
    """Tell whether the innermost bracket open at `at` is a brace."""
    bare = re.sub(r'"(?:[^"\\]|\\.)*"', "", text[:at])
    stack: list[str] = []
    for letter in re.findall(r"[\[{}\]]", bare):
        if letter in "[{":
            stack.append(letter)
        elif stack:
            stack.pop()
    return bool(stack) and stack[-1] == "{"
