"""JSON as Go writes it: no blanks, UTF-8 as it is, but ``< > &`` and the line separators escaped."""

import json
from typing import Any

_ENCODE = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_ESCAPES = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"}


def encode(value: Any) -> bytes:
    """Write a JSON value; lone surrogates, which UTF-8 can't carry, become question marks."""
    return _ENCODE(value).translate(_ESCAPES).encode("utf-8", "replace")
