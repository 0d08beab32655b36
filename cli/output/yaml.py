"""Writing JSON documents as YAML, in block style.

Promises: what a YAML 1.1 or 1.2 parser reads is the document that was written. Texts stand without quotes
only where no parser takes them for anything else.
"""

from __future__ import annotations

import json
import re
from typing import Any

# Letters first, and nothing that has a meaning in YAML: no `: `, no ` #`, no indicator, no blank at the ends.
_PLAIN = re.compile(r"[A-Za-z_/$.][A-Za-z0-9_/$.>*+@=()-]*(?: [A-Za-z0-9_/$.>*+@=()-]+)*")
_WORDS = {"true", "false", "yes", "no", "on", "off", "null", "y", "n"}  # texts that parsers take for values
_NUMBER = re.compile(r"[-+.]*(?:[0-9]|inf|nan)", re.IGNORECASE)
_UNPRINTABLE = re.compile(
    "[^\x20-\x7e\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]|[\u2028\u2029]"
)


def dump(document: Any) -> str:
    """Return a document as YAML, without a final newline."""
    return "\n".join(_lines(document))


def _lines(value: Any) -> list[str]:
    if isinstance(value, dict) and value:
        found = []
        for key, item in value.items():
            found += _entry(f"{_text(str(key))}:", item, "  ")
        return found
    if isinstance(value, list | tuple) and value:
        found = []
        for item in value:
            inner = _lines(item)
            found += [f"- {inner[0]}", *(f"  {line}" for line in inner[1:])]
        return found
    return [_scalar(value)]


def _entry(label: str, item: Any, indent: str) -> list[str]:
    if isinstance(item, dict | list | tuple) and item:
        return [label, *(indent + line for line in _lines(item))]
    return [f"{label} {_scalar(item)}"]


def _scalar(value: Any) -> str:
    if isinstance(value, dict):
        return "{}"
    if isinstance(value, list | tuple):
        return "[]"
    if isinstance(value, str):
        return _text(value)
    number = json.dumps(value)
    if isinstance(value, float) and "e" in number and "." not in number:
        return number.replace("e", ".0e")  # YAML 1.1 takes a number without a point for a text
    return number


def _text(value: str) -> str:
    if _PLAIN.fullmatch(value) and value.lower() not in _WORDS and not _NUMBER.match(value):
        return value
    quoted = json.dumps(value, ensure_ascii=False)
    return _UNPRINTABLE.sub(_escaped, quoted)


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\U{code:08x}" if code > 0xFFFF else f"\\u{code:04x}"
