"""Headers that ask for the trace of a message.

`Nats-Trace-Dest` names the subject that the trace goes to. `Nats-Trace-Only` asks for the trace alone: the
message must not be delivered then, whether somebody can trace it or not. Source: ADR-41, and `initMsgTrace`
in the reference's msgtrace.go: names are case sensitive, and the first value that is not empty counts.
`traceparent` asks for a trace by the account's configuration, never for a trace only.
"""

from __future__ import annotations

from typing import NamedTuple

from . import headers
from .subject import is_literal

DESTINATION = b"Nats-Trace-Dest"
MARK = b"\r\n" + DESTINATION + b":"  # searched for in every header
_ONLY = b"Nats-Trace-Only"
_YES = frozenset({b"1", b"true", b"on"})
_DISABLED = "trace disabled"  # the reference's mark of a message that is no longer traced


class Trace(NamedTuple):
    """What the headers ask for.

    destination: a valid subject, or "" if the named one is not valid.
    only: whether nobody receives the message.
    """

    destination: str
    only: bool


def wanted(block: bytes) -> Trace | None:
    """Return what a header block asks for, None if it asks for no trace."""
    if not block.startswith(b"NATS/1.0\r\n"):
        return None
    destination = _first(block, DESTINATION).decode("utf-8", "surrogateescape")
    if not destination:
        return None
    only = _first(block, _ONLY).lower() in _YES
    if destination == _DISABLED and not only:
        return None
    return Trace(destination if is_literal(destination) else "", only)


def only(block: bytes) -> bool:
    """Return whether the message must not be delivered to anybody."""
    trace = wanted(block)
    return trace is not None and trace.only


def _first(block: bytes, key: bytes) -> bytes:
    return next((value for value in headers.get_all(block, key) if value), b"")
