"""Deliveries of one consumer as Arrow columns: what a bulk reader gets instead of an object per message.

A block has room for so many rows and bytes. Deliveries are copied into it as they arrive, each byte once.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import pyarrow as pa

from ..native import take_deliveries
from ..native.blocks import FULL

SUBJECTS, HEADERS, PAYLOADS = "subjects", "headers", "payloads"
TEXTS = (SUBJECTS, HEADERS, PAYLOADS)


class DeliveryBlock:
    """Room for `rows` deliveries, whose subjects, headers and payloads each have at most `size` bytes.

    sid: of the subscription whose messages they are
    number: that the consumer gave its last delivery before; those of the block follow it without a gap
    wanted: which of TEXTS are kept; the others cost nothing
    pending: how many messages the consumer has left after the last delivery; -1 without one
    full: whether the next delivery had no room
    needed: the bytes of the frame that had none, or that is not whole
    """

    def __init__(
        self, sid: bytes, rows: int, size: int, *, number: int = 0, wanted: Collection[str] = TEXTS
    ) -> None:
        self._sid = sid
        self.number, self.pending = number, -1
        self.full, self.needed = False, 0
        self._counts = (0, 0, 0, 0)
        self._figures = [pa.allocate_buffer(8 * rows) for _ in range(3)]
        self._sequences = memoryview(self._figures[0]).cast("q")
        self._texts = {name: (pa.allocate_buffer(4 * rows + 4), pa.allocate_buffer(size)) for name in wanted}
        for offsets, _ in self._texts.values():
            memoryview(offsets).cast("B")[:4] = bytes(4)
        texts = (self._texts.get(name, (None, None)) for name in TEXTS)
        self._columns: tuple[Any, ...] = (*self._figures, *(part for pair in texts for part in pair))

    def __len__(self) -> int:
        return self._counts[0]

    def take(self, data: bytearray, start: int, end: int) -> int:
        """Append the deliveries in data[start:end]; return where they end."""
        before = self._counts[0]
        stop, why, self.needed, pending, self._counts = take_deliveries(
            data, start, end, self._sid, self.number, self._counts, self._columns
        )
        self.full = why == FULL
        if self._counts[0] > before:
            self.number += self._counts[0] - before
            self.pending = pending
        return stop

    @property
    def last_sequence(self) -> int:
        """The sequence of the last message; there must be one."""
        return self._sequences[len(self) - 1]

    @property
    def sequences(self) -> np.ndarray:
        """The sequence of each message in its stream, int64."""
        return self._numbers(0)

    @property
    def times(self) -> np.ndarray:
        """When each message was stored, in ns since the epoch, int64."""
        return self._numbers(1)

    @property
    def sizes(self) -> np.ndarray:
        """The bytes of header and payload of each message, int64."""
        return self._numbers(2)

    def _numbers(self, place: int) -> np.ndarray:
        return np.frombuffer(self._figures[place], np.int64)[: len(self)]

    def texts(self, name: str) -> pa.Array | None:
        """Return one of TEXTS as a binary column; None if it is not kept, or if no message has headers."""
        used = self._counts[1 + TEXTS.index(name)]
        if name not in self._texts or (name == HEADERS and not used):
            return None
        offsets, values = self._texts[name]
        parts = [None, offsets.slice(0, 4 * len(self) + 4), values.slice(0, used)]
        return pa.Array.from_buffers(pa.binary(), len(self), parts)
