"""The headers `Nats-Batch-…` of a message: its batch, its place in it, and whether it commits the batch."""

from __future__ import annotations

from ....protocol import headers

ID = b"Nats-Batch-Id"
SEQUENCE = b"Nats-Batch-Sequence"
COMMIT = b"Nats-Batch-Commit"
IN_HEADER = b"\r\n" + ID + b":"


def is_unfinished(header: bytes) -> bool:
    """Return whether a stored message is of a batch and does not end it."""
    return IN_HEADER in header and not headers.get(header, COMMIT)


def place_of(header: bytes) -> int:
    """Return the place of a message in its batch, from 1 on; -1 if the header does not say it."""
    number = headers.get(header, SEQUENCE) or b""
    return int(number[:20]) if number.isdigit() else -1
