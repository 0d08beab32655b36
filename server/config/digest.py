"""The digest of a parsed configuration, equal to the one that nats-server prints and shows in varz.

It is the SHA-256 of the entries as Go's encoding/json writes them: keys sorted, HTML characters escaped, a
newline at the end. Comments, the order, and the file that an entry comes from make no difference.
"""

from __future__ import annotations

import hashlib
import json
from datetime import datetime

from .tree import ConfigNode, Value

_GO = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
    "\x7f": "\x7f",
}


def digest(entries: dict[str, ConfigNode]) -> str:
    """Return `sha256:<hex>` of the entries."""
    text = _encode(entries) + "\n"
    return "sha256:" + hashlib.sha256(text.encode("utf-8")).hexdigest()


def _encode(value: Value) -> str:
    if isinstance(value, dict):
        return "{" + ",".join(f"{_string(k)}:{_encode(value[k].value)}" for k in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(_encode(node.value) for node in value) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, datetime):
        return value.strftime('"%Y-%m-%dT%H:%M:%SZ"')
    return _string(value)


def _string(text: str) -> str:
    text = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    quoted = json.dumps(text, ensure_ascii=False)
    for character, written in _GO.items():
        quoted = quoted.replace(character, written)
    return quoted


def _float(number: float) -> str:
    """Return a float as Go writes it: the shortest digits; an exponent only below 1e-6 and from 1e21 on."""
    text = repr(number)
    if "e" not in text:
        return text.removesuffix(".0")
    mantissa, _, exponent = text.partition("e")
    power = int(exponent)
    if -6 <= power < 21:
        from decimal import Decimal

        return format(Decimal(text), "f").removesuffix(".0")
    return f"{mantissa.removesuffix('.0')}e{'-' if power < 0 else '+'}{abs(power):02d}".replace("e-0", "e-")
