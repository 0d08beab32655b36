"""Reading a range by direct gets: any replica answers, even one that is behind, without a consumer.

Promises: each answer of a batch names the one before it, so none is missed. When a replica has no more, the
reading ends, and says nothing about what other replicas have. The lines that a direct get adds to a message's
headers, always its last ones, are removed. Source: ADR-31.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from ...client import ClientError, Frames
from ...protocol import headers
from ...protocol.subject import matches
from .api import JetStreamRequests
from .columns import MessageColumns, MessageRange, text
from .errors import Interrupted

BATCH_BYTES = 4 << 20
_END_OF_BATCH = b"NATS/1.0 204"
_ADDED = re.compile(
    rb"Nats-Stream: [^\r\n]*\r\nNats-Subject: ([^\r\n]*)\r\nNats-Sequence: (\d+)\r\n"
    rb"Nats-Time-Stamp: ([^\r\n]+)\r\nNats-Num-Pending: \d+\r\nNats-Last-Sequence: (\d+)\r\n\r\n\Z"
)
_EMPTY = b"NATS/1.0\r\n"
NOT_FOUND = 404


class DirectReader:
    """One reading of [start, end) by batches of direct gets."""

    def __init__(
        self, api: JetStreamRequests, stream: str, start: int, end: int, subjects: tuple[str, ...], batch: int
    ) -> None:
        self._api, self._connection = api, api.connection
        self._stream = stream
        self._position, self._end = start, end
        self._subjects = subjects
        self._batch = batch

    def ranges(self) -> Iterator[MessageRange]:
        """Yield a range for each batch until a replica has no more. Raises Interrupted, ClientError."""
        inbox = self._connection.new_inbox()
        sid = self._connection.subscribe(inbox)
        own = inbox.encode() + b" "
        try:
            while self._position < self._end:
                self._ask(inbox)
                frames = self._receive(own)
                if not len(frames):
                    return
                rows, until = _rows(frames)
                self._position = min(until, self._end)
                yield MessageRange(self._wanted(rows.below(self._end)), self._position)
        finally:
            self._forget(sid)

    def _forget(self, sid: bytes) -> None:
        try:
            self._connection.unsubscribe(sid)
        except ClientError:
            return  # it ended with the connection

    def _ask(self, inbox: str) -> None:
        request: dict[str, int | str] = {
            "seq": self._position,
            "batch": min(self._batch, self._end - self._position),
            "max_bytes": BATCH_BYTES,
        }
        if len(self._subjects) == 1:
            request["next_by_subj"] = self._subjects[0]
        subject = f"{self._api.prefix}.DIRECT.GET.{self._stream}"
        self._connection.publish(subject, json.dumps(request).encode(), reply=inbox)

    def _receive(self, own: bytes) -> Frames:
        """Return the messages of one batch, perhaps none; messages for other subjects are dropped."""
        batch = Frames()
        while True:
            frames = self._connection.take()
            for row in reversed(range(len(frames))):
                if not frames.heads[row].startswith(own):
                    frames.drop(row)
            if len(frames):
                batch.extend(frames)
                last = len(batch) - 1
                code, words = headers.status(batch.headers.get(last, b""))
                if batch.headers.get(last, b"").startswith(_END_OF_BATCH):
                    batch.drop(last)
                    return batch
                if (
                    code is not None
                    and not batch.payloads[last]
                    and _ADDED.search(batch.headers[last]) is None
                ):
                    if code == NOT_FOUND:
                        batch.drop(last)
                        return batch
                    raise Interrupted(f"direct get: {code} {words}".strip())

    def _wanted(self, rows: MessageColumns) -> MessageColumns:
        """Return the messages on the wanted subjects; the server has filtered by a single one already."""
        if len(self._subjects) <= 1:
            return rows
        kept = [
            row
            for row, subject in enumerate(rows.subjects.to_pylist())  # type: ignore[union-attr]
            if any(matches(pattern, subject) for pattern in self._subjects)
        ]
        return rows.chosen(kept)


def _rows(frames: Frames) -> tuple[MessageColumns, int]:
    """Return the messages, and the sequence after the last. Raises Interrupted if one is missing."""
    subjects, sequences, times, blocks = [], [], [], []
    previous = 0
    for row in range(len(frames)):
        block = frames.headers.get(row, b"")
        added = _ADDED.search(block)
        if added is None or int(added[4]) != previous:
            raise Interrupted("an answer to a direct get did not arrive")
        previous = int(added[2])
        subjects.append(added[1])
        sequences.append(previous)
        times.append(added[3])
        blocks.append(block[: added.start()] + b"\r\n" if added.start() > len(_EMPTY) else b"")
    rows = MessageColumns.of(
        sequences,
        _nanoseconds(times),
        text(pa.array(subjects, pa.binary())),
        pa.array(frames.payloads, pa.binary()),
        pa.array(blocks, pa.binary()),
    )
    return rows, previous + 1


def _nanoseconds(times: list[bytes]) -> np.ndarray:
    """Return RFC 3339 times as ns since the epoch. Raises Interrupted if one is not such a time."""
    try:
        read = pa.array(times, pa.binary()).cast(pa.string()).cast(pa.timestamp("ns", "UTC"))
    except pa.ArrowInvalid:
        raise Interrupted("an answer to a direct get has no time") from None
    return read.cast(pa.int64()).to_numpy()  # type: ignore[no-any-return]
