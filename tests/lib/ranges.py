"""Streams to read ranges of: filled by a test, and read back as plain rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyjs.pipeline.jetstream import JetStreamRequests, StreamRange, read
from pyjs.protocol import headers

# What a server must return unchanged: nothing, what looks like the protocol, and all bytes.
ODD_PAYLOADS = (
    b"",
    b"\r\n",
    b"MSG a 1 3\r\nabc\r\n",
    b"HMSG a 1 12 12\r\n",
    bytes(range(256)),
    b"\r\nPING\r\n" * 3,
)


def create(api: JetStreamRequests, name: str, **config: Any) -> None:
    """Create a stream on `<name>.>`, in memory unless said otherwise."""
    given = {"name": name, "subjects": [f"{name}.>"], "storage": "memory", **config}
    api.call(f"STREAM.CREATE.{name}", given)


def store(
    api: JetStreamRequests,
    subject: str,
    payload: bytes = b"",
    block: dict[str, str | list[str]] | None = None,
) -> None:
    """Publish one message and wait until it is stored."""
    answer = api.connection.request(subject, payload, headers.encode(block) if block else b"")
    assert b'"seq"' in answer.payload, answer.payload


def fill(api: JetStreamRequests, name: str, count: int, size: int = 0) -> None:
    """Store messages `0`, `1`, … on `<name>.a` and `<name>.b` in turn, much faster than one by one.

    size: bytes of each, filled up with blanks
    """
    inbox = api.connection.new_inbox()
    sid = api.connection.subscribe(inbox)
    for start in range(0, count, 500):
        some = range(start, min(start + 500, count))
        for number in some:
            api.connection.publish(f"{name}.{'ab'[number % 2]}", (b"%d" % number).ljust(size), reply=inbox)
        left = len(some)
        while left:
            answers = api.connection.take(20)
            left -= len(answers)
            refused = [answer for answer in answers.payloads if b'"seq"' not in answer]
            assert refused == []
    api.connection.unsubscribe(sid)


def delete(api: JetStreamRequests, name: str, *sequences: int) -> None:
    """Delete single messages."""
    for sequence in sequences:
        api.call(f"STREAM.MSG.DELETE.{name}", {"seq": sequence})


def rows(api: JetStreamRequests, wanted: StreamRange, **options: Any) -> list[dict[str, Any]]:
    """Return all rows of a range."""
    return [row for batch in read(api.connection, api, wanted, **options) for row in batch.to_pylist()]


def sequences(api: JetStreamRequests, wanted: StreamRange, **options: Any) -> list[int]:
    """Return the sequences of a range, in the order in which they were read."""
    return [row["sequence"] for row in rows(api, wanted, **options)]


def listed(batches: Sequence[Any], column: str) -> list[Any]:
    """Return one column of many batches."""
    return [value for batch in batches for value in batch.column(column).to_pylist()]
