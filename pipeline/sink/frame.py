"""Rows as the frames that publish them: a record batch becomes PUB and HPUB operations, a slice at a time.

Promises: a row becomes either a whole valid frame or an error that names it; no content of a column can end a
line early. Every frame asks for its acknowledgement on `<inbox>.<row>`.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from ...protocol.subject import is_literal, matches
from .errors import BadRow
from .task import WriteTask

ROWS = 512  # in one slice
SLICE = 1 << 20  # bytes of columns in one slice, about
KNOWN_SUBJECTS = 10_000  # subjects whose check is remembered
MSG_ID = "Nats-Msg-Id"
TTL = "Nats-TTL"
_BREAKS = re.compile(r"[\r\n]")
_NAME = re.compile(r"[!-9;-~]+")  # visible ASCII but the colon


Message = tuple[bytes, bytes, bytes]  # subject, header block (b"" for none), payload


@dataclass
class Encoder:
    """The encoder of the frames of one task.

    largest: the most bytes that a message may have
    limit: the name of the limit that `largest` is, for errors
    derive_ids: whether a row without a message id gets one that follows from the row and its place
    stored: the subjects that the stream stores, if a row for another stream is an error; none: not checked
    """

    task: WriteTask
    inbox: str  # the subject under which acknowledgements are received
    largest: int
    limit: str  # "max_payload of the server"
    subject: str = ""  # of all rows; "" when a column says it
    derive_ids: bool = False
    stored: tuple[str, ...] = ()
    _known: set[bytes] = field(default_factory=set)

    def frames(self, batch: pa.RecordBatch, first: int) -> Iterator[list[bytes]]:
        """Yield the frames of a batch whose first row is the task's row `first`, in lists of a few.

        A list has at most ROWS frames and about SLICE bytes. A null subject is found before any frame of the
        batch is returned. Raises BadRow.
        """
        for number, part in self._slices(batch, first):
            yield self._slice(part, number)

    def messages(self, batch: pa.RecordBatch, first: int) -> Iterator[list[Message]]:
        """Yield the messages of a batch as `frames` does, not framed yet. Raises BadRow."""
        for number, part in self._slices(batch, first):
            yield self._messages(part, number)

    def _slices(self, batch: pa.RecordBatch, first: int) -> Iterator[tuple[int, pa.RecordBatch]]:
        if not self.subject:
            self._check_presence(batch.column("subject"), first)
        rows = max(1, min(ROWS, SLICE * batch.num_rows // (batch.nbytes + 1)))
        for start in range(0, batch.num_rows, rows):
            yield first + start, batch.slice(start, rows)

    def _check_presence(self, subjects: pa.Array, first: int) -> None:
        if subjects.null_count:
            row = subjects.is_null().to_pylist().index(True)
            raise BadRow(self.task.row(first + row), "has no subject: it is null")

    def _slice(self, part: pa.RecordBatch, first: int) -> list[bytes]:
        replies = b"%b." % self.inbox.encode()
        if not self._with_headers(part):  # most rows: a fifth faster
            rows = enumerate(
                zip(self._subjects(part, first), self._payloads(part, first), strict=True), first
            )
            return [
                b"PUB %b %b%d %d\r\n%b\r\n" % (subject, replies, row, len(payload), payload)
                for row, (subject, payload) in rows
            ]
        return [
            b"HPUB %b %b%d %d %d\r\n%b%b\r\n"
            % (subject, replies, row, len(block), len(block) + len(payload), block, payload)
            if block
            else b"PUB %b %b%d %d\r\n%b\r\n" % (subject, replies, row, len(payload), payload)
            for row, (subject, block, payload) in enumerate(self._messages(part, first), first)
        ]

    def _messages(self, part: pa.RecordBatch, first: int) -> list[Message]:
        subjects = self._subjects(part, first)
        if not self._with_headers(part):
            return [
                (subject, b"", payload)
                for subject, payload in zip(subjects, self._payloads(part, first), strict=True)
            ]
        payloads: list[bytes] = [value or b"" for value in _binary(part.column("data"))]
        blocks = self._blocks(part, subjects, payloads, first)
        self._check_sizes([len(a) + len(b) for a, b in zip(blocks, payloads, strict=True)], first)
        return list(zip(subjects, blocks, payloads, strict=True))

    def _with_headers(self, part: pa.RecordBatch) -> bool:
        return self.derive_ids or not {"headers", "msg_id", "ttl"}.isdisjoint(part.schema.names)

    def _payloads(self, part: pa.RecordBatch, first: int) -> list[bytes]:
        """Return the payloads of rows without headers. Raises BadRow for one that is too large."""
        payloads: list[bytes] = [value or b"" for value in _binary(part.column("data"))]
        self._check_sizes([len(payload) for payload in payloads], first)
        return payloads

    def _subjects(self, part: pa.RecordBatch, first: int) -> list[bytes]:
        if self.subject:
            return [self.subject.encode()] * part.num_rows
        found = _binary(part.column("subject"))
        if not self._known.issuperset(found):
            for row, subject in enumerate(found, first):
                if subject not in self._known:
                    self._check_subject(subject, row)
        return found

    def _check_subject(self, subject: bytes, row: int) -> None:
        text = subject.decode()
        if not text:
            raise BadRow(self.task.row(row), "has no subject: it is empty")
        if not is_literal(text):
            raise BadRow(
                self.task.row(row), f"cannot be published: {text[:100]!r} is no subject without wildcards"
            )
        if self.stored and not any(matches(pattern, text) for pattern in self.stored):
            raise BadRow(
                self.task.row(row), f"has subject {text[:100]}, which the stream of this write does not store"
            )
        if len(self._known) >= KNOWN_SUBJECTS:
            self._known.clear()
        self._known.add(subject)

    def _check_sizes(self, sizes: list[int], first: int) -> None:
        if sizes and max(sizes) > self.largest:
            row, size = next((row, size) for row, size in enumerate(sizes) if size > self.largest)
            raise BadRow(
                self.task.row(first + row),
                f"is a message of {size} bytes; the {self.limit} is {self.largest}",
            )

    # -- headers

    def _blocks(
        self, part: pa.RecordBatch, subjects: list[bytes], payloads: list[bytes], first: int
    ) -> list[bytes]:
        """Return the header block of each row, b"" for none."""
        names = set(part.schema.names)

        def column(name: str) -> list[Any]:
            return part.column(name).to_pylist() if name in names else [None] * part.num_rows

        given = zip(column("headers"), column("msg_id"), column("ttl"), subjects, payloads, strict=True)
        blocks = []
        for row, (headers, msg_id, ttl, subject, payload) in enumerate(given, first):
            lines = self._lines(headers, row) if headers else []
            if msg_id or self.derive_ids:
                if lines:
                    lines = _without(lines, MSG_ID)
                lines.append(f"{MSG_ID}: {self._plain(msg_id or self._id(row, subject, payload), row)}")
            if ttl is not None:
                if lines:
                    lines = _without(lines, TTL)
                lines.append(f"{TTL}: {self._plain(str(ttl), row)}")
            blocks.append("\r\n".join(("NATS/1.0", *lines, "\r\n")).encode() if lines else b"")
        return blocks

    def _id(self, row: int, subject: bytes, payload: bytes) -> str:
        """Return the derived id. Its checksum keeps another row at the same place from passing for it."""
        return f"{self.task.prefix}{row}:{zlib.crc32(payload, zlib.crc32(subject)):08x}"

    def _lines(self, headers: list[tuple[str, Any]], row: int) -> list[str]:
        lines = []
        for name, found in headers:
            if not _NAME.fullmatch(name):
                raise BadRow(self.task.row(row), f"has a header whose name cannot be sent: {name[:100]!r}")
            values = found if isinstance(found, list) else [found]
            lines += [f"{name}: {self._plain(value or '', row)}" for value in values]
        return lines

    def _plain(self, value: str, row: int) -> str:
        if _BREAKS.search(value):
            raise BadRow(self.task.row(row), "has a header value with a line break, which cannot be sent")
        return value


def _without(lines: list[str], name: str) -> list[str]:
    return [line for line in lines if not line.startswith(f"{name}:")]


def _binary(column: pa.Array) -> list[Any]:
    """Return the values of a string or binary column as bytes, None for null."""
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        column = column.cast(pa.binary() if pa.types.is_string(column.type) else pa.large_binary())
    values: list[Any] = column.to_pylist()
    return values
