"""Trace lines of a client connection, in the words of nats-server's trace log. Without secrets."""

from __future__ import annotations

from ...protocol.wire.ops import HPUB, NAMES, PUB, Op
from ..connection.trace import control, text


def incoming(operation: Op, most: int) -> list[str]:
    """Return the trace lines of a parsed operation, with a line of its own for the payload.

    most: how many bytes of the payload to show; 0 means all.
    """
    code = operation[0]
    if code in {PUB, HPUB}:
        name = NAMES[code]
        _, subject, reply, header_size, size, tail = operation
        sizes = [b"%d" % header_size] if code == HPUB else []
        fields = [subject, *([reply] if reply else []), *sizes, b"%d" % size]
        payload = tail[len(tail) - 2 - size : -2]
        return [f"<<- [{name} {text(b' '.join(fields))}]", f"<<- MSG_PAYLOAD: [{_payload(payload, most)}]"]
    return [control(operation)]


def outgoing(lead: bytes, tail: bytes, size: int, most: int) -> list[str]:
    """Return the trace lines of a message to a client. `most` is as in `incoming`."""
    head = lead + tail[: len(tail) - size - 4]
    payload = tail[len(tail) - 2 - size : -2]
    return [f"->> [{text(head)}]", f"->> MSG_PAYLOAD: [{_payload(payload, most)}]"]


def line(raw: bytes) -> str:
    """Return the trace line of a protocol line to a client."""
    return f"->> [{text(raw.rstrip())}]"


def _payload(payload: bytes, most: int) -> str:
    shown = payload[:most] if most > 0 else payload
    quoted = repr(shown)[2:-1].replace('"', '\\"').replace("\\'", "'")
    return f'"{quoted}..."' if len(shown) < len(payload) else f'"{quoted}"'
