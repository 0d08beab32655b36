"""The columns of a record batch: their names and Arrow types, and messages turned into them.

Everything is computed a column at a time. Only headers, when they are wanted, cost work per message.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...client.block import HEADERS as HEADER_BLOCKS
from ...client.block import PAYLOADS, SUBJECTS
from ...protocol.headers import decode
from . import bucket

HEADERS = "headers"
COLUMNS: dict[str, pa.DataType] = {
    "subject": pa.string(),
    "data": pa.binary(),
    "stream": pa.string(),
    "sequence": pa.int64(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    HEADERS: pa.map_(pa.string(), pa.list_(pa.string())),
    "size": pa.int64(),  # bytes of headers and payload
    "domain": pa.string(),
    "key": pa.string(),
    "operation": pa.string(),
}
OF_BUCKETS = ("key", "operation")
_MADE_OF = {
    SUBJECTS: {"subject", "key"},
    HEADER_BLOCKS: {HEADERS, "operation"},
    PAYLOADS: {"data"},
}


def schema(columns: Sequence[str]) -> pa.Schema:
    """Return the Arrow schema of these columns, in this order. Raises KeyError for an unknown one."""
    return pa.schema([(name, COLUMNS[name]) for name in columns])


def names(*, headers: bool, of_bucket: bool = False) -> tuple[str, ...]:
    """Return the names of all columns; `headers` and those of buckets only if they are asked for."""
    left_out = (() if headers else (HEADERS,)) + (() if of_bucket else OF_BUCKETS)
    return tuple(name for name in COLUMNS if name not in left_out)


def texts(columns: Sequence[str]) -> tuple[str, ...]:
    """Return which of the texts of messages these columns are made of."""
    return tuple(text for text, made in _MADE_OF.items() if not made.isdisjoint(columns))


@dataclass(slots=True)
class MessageColumns:
    """Messages in ascending order of sequence, as columns; subjects and payloads are None if not wanted."""

    sequences: np.ndarray  # int64
    times: np.ndarray  # int64, ns since the epoch
    sizes: np.ndarray  # int64: bytes of headers and payload
    subjects: pa.Array | None  # string
    payloads: pa.Array | None  # binary
    headers: pa.Array | None = None  # binary: header blocks, empty without one; None when there are none

    @classmethod
    def of(
        cls,
        sequences: list[int],
        times: np.ndarray,
        subjects: pa.Array,
        payloads: pa.Array,
        headers: pa.Array,
    ) -> MessageColumns:
        """Return messages of which everything is there."""
        sizes = pc.add(pc.binary_length(payloads), pc.binary_length(headers)).to_numpy().astype(np.int64)
        return cls(np.array(sequences, np.int64), times, sizes, subjects, payloads, headers)

    def __len__(self) -> int:
        return len(self.sequences)

    def below(self, end: int) -> MessageColumns:
        """Return the rows whose sequence is below `end`."""
        count = int(np.searchsorted(self.sequences, end))
        return self if count == len(self) else self.chosen(range(count))

    def chosen(self, rows: Sequence[int]) -> MessageColumns:
        """Return only the rows with these indexes."""
        at = np.array(rows, np.int64)
        texts = [
            None if column is None else column.take(pa.array(at))
            for column in (self.subjects, self.payloads, self.headers)
        ]
        return MessageColumns(self.sequences[at], self.times[at], self.sizes[at], *texts)

    def missing(self, start: int, end: int) -> int:
        """Return the first sequence of [start, end) that is not among these rows; `end` if there is none."""
        inside = self.sequences[: int(np.searchsorted(self.sequences, end))]
        wrong = np.flatnonzero(inside != np.arange(start, start + len(inside)))
        return start + (int(wrong[0]) if len(wrong) else len(inside))

    def absent(self, start: int, end: int) -> int:
        """Return how many sequences of [start, end) are not among these rows, all of which are >= start."""
        return end - start - int(np.searchsorted(self.sequences, end))

    def batch(self, columns: Sequence[str], stream: str, domain: str) -> pa.RecordBatch:
        """Return the rows as a record batch of these columns."""
        return pa.RecordBatch.from_arrays(
            [self._column(name, stream, domain) for name in columns], schema=schema(columns)
        )

    def _column(self, name: str, stream: str, domain: str) -> pa.Array:
        if name == "subject":
            return self.subjects
        if name == "data":
            return self.payloads
        if name == "sequence":
            return pa.array(self.sequences, COLUMNS[name])
        if name == "timestamp":
            return pa.array(self.times // 1000, pa.int64()).cast(COLUMNS[name])
        if name == "size":
            return pa.array(self.sizes, COLUMNS[name])
        if name == HEADERS:
            return self._maps()
        if name == "key":
            return bucket.keys(self.subjects)
        if name == "operation":
            return bucket.operations(self.headers, len(self))
        return pa.repeat(pa.scalar(stream if name == "stream" else domain, COLUMNS[name]), len(self))

    def _maps(self) -> pa.Array:
        """Return a map per row, empty without headers: each key once, with all its values in their order."""
        offsets, value_offsets = [0], [0]
        keys: list[str] = []
        values: list[str] = []
        for block in [b""] * len(self) if self.headers is None else self.headers.to_pylist():
            if block:
                for key, several in decode(block).items():
                    keys.append(key)
                    values.extend(several)
                    value_offsets.append(len(values))
            offsets.append(len(keys))
        lists = pa.ListArray.from_arrays(pa.array(value_offsets, pa.int32()), pa.array(values, pa.string()))
        return pa.MapArray.from_arrays(
            pa.array(offsets, pa.int32()), pa.array(keys, pa.string()), lists, COLUMNS[HEADERS]
        )


class MessageRange(NamedTuple):
    """Messages, and where to continue: sequences below `until` that are not among `rows` no longer exist."""

    rows: MessageColumns
    until: int


def text(raw: pa.Array) -> pa.Array:
    """Return binary values as strings; bytes that are not UTF-8 become replacement characters."""
    try:
        return raw.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([value.decode("utf-8", "replace") for value in raw.to_pylist()], pa.string())
