"""Counters: what `allow_msg_counter` makes of a publish with `Nats-Incr`.

Each subject of such a stream is a counter. A publish adds to it, and what is stored is the new total. A copy
from a source brings a total of the origin: what is added is the growth since the last copy, so that totals of
several origins sum up, whatever was lost on the way.

Promises:
- Totals have as many digits as they need, at a cost that is linear in the digits.
- The result depends on the stored messages alone, so that it is the same on every replica.
- A publish that cannot be added raises ApiError, in the reference's order, and changes nothing.

Source: ADR-49.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, Inexact, InvalidOperation
from typing import TYPE_CHECKING, Any

from ....protocol import headers
from ....protocol.errors import api_error
from ....store.errors import StoreError
from .source_header import HEADER as SOURCE

if TYPE_CHECKING:
    from ....store.stream import StreamStore

HEADER = b"Nats-Incr"
SOURCES = b"Nats-Counter-Sources"
MOST_DIGITS = 1 << 20  # of a total; more would not fit into the largest payload of a server by default
EXCLUDED = (
    b"Nats-Rollup",
    b"Nats-Expected-Stream",
    b"Nats-Expected-Last-Msg-Id",
    b"Nats-Expected-Last-Subject-Sequence-Subject",
    b"Nats-Expected-Last-Sequence",
    b"Nats-Expected-Last-Subject-Sequence",
)

_INTEGER = re.compile(rb"[+-]?[0-9]+")
_EXACT = Context(prec=MOST_DIGITS, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[Inexact, InvalidOperation])

# Decimal, not int: Python's conversions between text and int take time with the square of the digits.
Sources = dict[str, dict[str, str]]  # totals by the origin's name and subject


def increment(header: bytes) -> Decimal | None:
    """Return the number in `Nats-Incr`, None if the header has none. Raises ApiError if it is no integer."""
    value = headers.get(header, HEADER) if header else None
    if not value:
        return None
    if not _INTEGER.fullmatch(value):
        raise api_error("JSMessageIncrInvalidErr")
    return Decimal(value.decode())


def check(header: bytes, body: bytes) -> None:
    """Raise ApiError unless a client may publish this to a stream with counters, if it has an increment."""
    if increment(header) is None:
        return  # refused after all other checks, by `counted`
    if body:
        raise api_error("JSMessageIncrPayloadErr")
    if any(headers.get(header, key) for key in EXCLUDED):
        raise api_error("JSMessageIncrInvalidErr")


def stored(store: StreamStore, subject: str) -> tuple[bytes, bytes] | None:
    """Return the header and the body of a counter's last message, None if it has none. Raises ApiError."""
    sequence = store.subject_last(subject)
    if not sequence:
        return None
    try:
        message = store.get(sequence)
    except StoreError:
        raise api_error("JSMessageCounterBrokenErr") from None
    return message.header, message.body


def counted(
    previous: tuple[bytes, bytes] | None, subject: str, header: bytes, body: bytes
) -> tuple[bytes, bytes]:
    """Return the header and the body to store: with the new total. Raises ApiError.

    previous: the header and the body of the counter's last message, None if it has none.
    header, body: of the publish, or of a copy if it has `Nats-Stream-Source`.
    """
    added = increment(header)
    if added is None:
        raise api_error("JSMessageIncrMissingErr")
    total, sources = _read(previous)
    source = headers.get(header, SOURCE)
    if source:
        fields = source.decode("utf-8", "surrogateescape").split(" ")
        copied = value_of(body)
        of_origin = sources.setdefault(fields[0], {})
        before = of_origin.get(origin_subject := fields[4] if len(fields) >= 5 else subject, "0")
        of_origin[origin_subject] = _text(copied)
        added = _exactly(_EXACT.subtract, copied, _number(before))
        header = headers.set(header, HEADER, _text(added).encode())
    if sources:
        document = json.dumps(sources, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        header = headers.set(header, SOURCES, document.encode("utf-8", "surrogateescape"))
    return header, b'{"val":"%b"}' % _text(_exactly(_EXACT.add, total, added)).encode()


def value_of(body: bytes) -> Decimal:
    """Return the total that a stored message has. Raises ApiError if it is none."""
    try:
        document = json.loads(body)
        return _number(document.get("val", ""))
    except (ValueError, AttributeError, RecursionError):
        raise api_error("JSMessageCounterBrokenErr") from None


def _read(previous: tuple[bytes, bytes] | None) -> tuple[Decimal, Sources]:
    """Return the last total of a counter, and what its sources had. Raises ApiError."""
    if previous is None:
        return Decimal(0), {}
    header, body = previous
    kept = headers.get(header, SOURCES) if header else None
    return value_of(body), _sources(kept) if kept else {}


def _sources(value: bytes) -> Sources:
    try:
        document: Any = json.loads(value)
    except (ValueError, RecursionError):
        raise api_error("JSMessageCounterBrokenErr") from None
    if not isinstance(document, dict) or not all(_are_texts(totals) for totals in document.values()):
        raise api_error("JSMessageCounterBrokenErr")
    return document


def _are_texts(totals: object) -> bool:
    return isinstance(totals, dict) and all(isinstance(total, str) for total in totals.values())


def _number(text: object) -> Decimal:
    """Read a total. Raises ApiError."""
    if isinstance(text, str) and _INTEGER.fullmatch(text.encode("utf-8", "surrogatepass")):
        return Decimal(text)
    raise api_error("JSMessageCounterBrokenErr")


def _exactly(operation: Callable[[Decimal, Decimal], Decimal], one: Decimal, other: Decimal) -> Decimal:
    try:
        return operation(one, other)
    except (Inexact, InvalidOperation):
        raise api_error("JSStreamMessageExceedsMaximumErr") from None


def _text(number: Decimal) -> str:
    return str(number) if number else "0"  # zero may have a sign
