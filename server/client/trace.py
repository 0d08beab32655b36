"""What goes over a client's wire, in the words of nats-server's trace log. Secrets never appear."""

from __future__ import annotations

import re

from ...protocol.wire.ops import CONNECT, HPUB, NAMES, PUB, Op

_SECRETS = re.compile(rb'("(?:pass|auth_token|jwt|sig)"\s*:\s*)"(?:[^"\\]|\\.)*"')


def incoming(operation: Op, most: int) -> list[str]:
    """One parsed operation as trace lines, the payload on its own; `most` bytes of it, 0: all."""
    code = operation[0]
    name = NAMES[code]
    if code in {PUB, HPUB}:
        _, subject, reply, header_size, size, tail = operation
        sizes = [b"%d" % header_size] if code == HPUB else []
        fields = [subject, *([reply] if reply else []), *sizes, b"%d" % size]
        payload = tail[len(tail) - 2 - size : -2]
        return [f"<<- [{name} {_text(b' '.join(fields))}]", f"<<- MSG_PAYLOAD: [{_payload(payload, most)}]"]
    if code == CONNECT:
        document = _SECRETS.sub(rb'\1"[REDACTED]"', operation[1])
        return [f"<<- [{name} {_text(document)}]"]
    fields = [field if isinstance(field, bytes) else b"%d" % field for field in operation[1:] if field]
    return [f"<<- [{' '.join([name, *map(_text, fields)])}]"]


def outgoing(lead: bytes, tail: bytes, size: int, most: int) -> list[str]:
    """A message on its way to a client."""
    head = lead + tail[: len(tail) - size - 4]
    payload = tail[len(tail) - 2 - size : -2]
    return [f"->> [{_text(head)}]", f"->> MSG_PAYLOAD: [{_payload(payload, most)}]"]


def line(raw: bytes) -> str:
    """A protocol line on its way to a client."""
    return f"->> [{_text(raw.rstrip())}]"


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "backslashreplace")


def _payload(payload: bytes, most: int) -> str:
    shown = payload[:most] if most > 0 else payload
    text = repr(shown)[2:-1].replace('"', '\\"').replace("\\'", "'")
    return f'"{text}..."' if len(shown) < len(payload) else f'"{text}"'
