"""Control lines in the words of nats-server's trace log. Secrets never appear."""

from __future__ import annotations

import re

from ...protocol.wire.ops import CONNECT, NAMES, Op

# The values of these members, strings or not.
_SECRETS = re.compile(
    rb"""("(?:pass|auth_token|jwt|sig)"\s*:\s*)(?:"(?:[^"\\]|\\.)*"|\[[^\]]*\]?|[^"\s][^,}]*)"""
)


def control(operation: Op) -> str:
    """One parsed operation without a payload, as it came."""
    name = NAMES[operation[0]]
    if operation[0] == CONNECT:
        document = _SECRETS.sub(rb'\1"[REDACTED]"', operation[1])
        return f"<<- [{name} {text(document)}]"
    fields = [field if isinstance(field, bytes) else b"%d" % field for field in operation[1:] if field]
    return f"<<- [{' '.join([name, *map(text, fields)])}]"


def text(raw: bytes) -> str:
    """Bytes of the wire as text."""
    return raw.decode("utf-8", "backslashreplace")
