"""Trace lines of operations, in the words of nats-server's trace log. Secrets never appear in them."""

from __future__ import annotations

import re

from ...protocol.wire.ops import CONNECT, NAMES, Op

# Matches the values of these members, whether they are strings or not.
_SECRETS = re.compile(
    rb"""("(?:pass|auth_token|jwt|sig)"\s*:\s*)(?:"(?:[^"\\]|\\.)*"|\[[^\]]*\]?|[^"\s][^,}]*)"""
)


def control(operation: Op) -> str:
    """Return the trace line of a parsed operation that has no payload."""
    name = NAMES[operation[0]]
    if operation[0] == CONNECT:
        document = _SECRETS.sub(rb'\1"[REDACTED]"', operation[1])
        return f"<<- [{name} {text(document)}]"
    fields = [field if isinstance(field, bytes) else b"%d" % field for field in operation[1:] if field]
    return f"<<- [{' '.join([name, *map(text, fields)])}]"


def text(raw: bytes) -> str:
    """Return bytes of the wire as text."""
    return raw.decode("utf-8", "backslashreplace")
