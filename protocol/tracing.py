"""Headers that ask for the trace of a message, and what servers tell each other about it.

`Nats-Trace-Dest` names the subject that the trace goes to. `Nats-Trace-Only` asks for the trace alone: the
message must not be delivered then, whether somebody can trace it or not. `Nats-Trace-Hop` says which step of
its way a message has made that comes from another server. `traceparent` asks for a trace by the account's
configuration, never for a trace only. Source: ADR-41, and `genHeaderMapIfTraceHeadersPresent` in the
reference's msgtrace.go: names are case sensitive, except for `traceparent`, and the first value that is not
empty counts.

Promises: reading costs no more than the length of the block, whatever it holds.
"""

from __future__ import annotations

from typing import NamedTuple

from . import headers
from .subject import is_literal

DESTINATION = b"Nats-Trace-Dest"
HOP = b"Nats-Trace-Hop"
MARK = b"\r\n" + DESTINATION + b":"  # searched for in every header
ANY = b""  # searched for instead where `traceparent` matters: every header has it
SUPPORTED = 3  # the number of the protocol between servers from which on they trace messages
LONGEST = 4096  # bytes of a destination or a hop; longer ones are not served
_ONLY = "Nats-Trace-Only"
_ORIGIN_ACCOUNT = "Nats-Trace-Origin-Account"  # of servers before 2.14; nobody may set it
_PARENT = b"traceparent"
_VERSION = b"NATS/1.0\r\n"
_YES = frozenset({"1", "true", "on"})
_DISABLED = "trace disabled"  # the reference's mark of a message that is no longer traced
_BLANKS = b" \t"


class TraceRequest(NamedTuple):
    """What the headers of a message ask for.

    destination: as it was given, perhaps no valid subject; "" to take the account's.
    only: whether nobody receives the message.
    hop: the hop that the message came with, "" for none.
    encoding: how the trace may be compressed, as in `Accept-Encoding`.
    forged: whether a header is there that only servers may set.
    values: of all headers that have any, by their names.
    """

    destination: str
    only: bool
    hop: str
    encoding: str
    forged: bool
    values: dict[str, list[str]]


def requested(block: bytes, *, by_parent: bool = False) -> TraceRequest | None:
    """Return what a header block asks for, None if it asks for no trace.

    by_parent: whether a sampled `traceparent` asks for one.
    """
    if not by_parent and MARK not in block:
        return None
    if not block.startswith(_VERSION):
        return None
    values: dict[str, list[str]] = {}
    sampled = False
    for key, value in _lines(block):
        values.setdefault(_text(key), []).append(_text(value))
        sampled = sampled or (key.lower() == _PARENT and _samples(value))

    def first(name: str) -> str:
        return values.get(name, [""])[0]

    destination = first(DESTINATION.decode())
    only = bool(destination) and first(_ONLY).lower() in _YES
    if not (destination or (by_parent and sampled)) or (destination == _DISABLED and not only):
        return None
    return TraceRequest(
        destination, only, first(HOP.decode()), first("Accept-Encoding"), _ORIGIN_ACCOUNT in values, values
    )


def is_destination(subject: str) -> bool:
    """Return whether traces can be sent to a subject."""
    return is_literal(subject) and len(subject) <= LONGEST


def disabled(block: bytes) -> bytes:
    """Return the block with the mark of a message that must not be traced from here on."""
    return headers.set(block, DESTINATION, _DISABLED.encode())


def _lines(block: bytes) -> list[tuple[bytes, bytes]]:
    """Return name and value of each header that has both."""
    found = []
    for line in block[len(_VERSION) :].split(b"\r\n")[:-1]:
        key, colon, value = line.partition(b":")
        value = value.strip(_BLANKS)
        if colon and key and value:
            found.append((key, value))
    return found


def _samples(value: bytes) -> bool:
    """Return whether bit 0 of the flags is set in ``version-trace-parent-flags``."""
    parts = value.split(b"-")
    if len(parts) != 4 or len(parts[3]) != 2:
        return False
    try:
        flags = int(parts[3], 16)
    except ValueError:
        return False
    return 0 <= flags <= 127 and bool(flags & 1)


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")
