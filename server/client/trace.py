"""Trace lines of a client connection, in the words of nats-server's trace log. Without secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol.quoting import quoted
from ...protocol.wire.ops import HPUB, NAMES, PUB, Op
from ..connection.trace import control, text

if TYPE_CHECKING:
    from ..config.options import Options

_IN, _OUT = "<<-", "->>"


def incoming(operation: Op, options: Options) -> list[str]:
    """Return the trace lines of a parsed operation, with a line of its own for the payload."""
    code = operation[0]
    if code in {PUB, HPUB}:
        name = NAMES[code]
        _, subject, reply, header_size, size, tail = operation
        sizes = [b"%d" % header_size] if code == HPUB else []
        fields = [subject, *([reply] if reply else []), *sizes, b"%d" % size]
        payload = tail[len(tail) - 2 - size : -2]
        return [f"{_IN} [{name} {text(b' '.join(fields))}]", *_payload(_IN, payload, header_size, options)]
    return [control(operation)]


def outgoing(lead: bytes, tail: bytes, size: int, options: Options) -> list[str]:
    """Return the trace lines of a message to a client."""
    head = lead + tail[: len(tail) - size - 4]
    payload = tail[len(tail) - 2 - size : -2]
    header_size = int(head.split()[-2]) if head.startswith(b"HMSG ") else 0
    return [f"{_OUT} [{text(head)}]", *_payload(_OUT, payload, header_size, options)]


def line(raw: bytes) -> str:
    """Return the trace line of a protocol line to a client."""
    return f"->> [{text(raw.rstrip())}]"


def _payload(direction: str, payload: bytes, header_size: int, options: Options) -> list[str]:
    """Return the line of a payload, or with `trace_headers` of its headers; none where there is nothing."""
    if options.trace_headers:
        payload = payload[: header_size - len(b"\r\n\r\n")] if header_size else b""
    if not payload:
        return []
    most = options.max_traced_msg_len
    shown = payload[:most] if most > 0 else payload
    more = "..." if len(shown) < len(payload) else ""
    inside = quoted(shown.decode("utf-8", "surrogateescape"))[1:-1]
    return [f'{direction} MSG_PAYLOAD: ["{inside}{more}"]']
