"""Bytes that were received and not taken yet, in one buffer that is used again for every read."""

from __future__ import annotations

from typing import Protocol

from .frames import first_frame

FIRST = 256 << 10  # bytes: most reads bring less, and this stays in a processor's cache
LEAST = 64 << 10  # bytes of room for each read


class Taker(Protocol):
    """Takes messages of one kind, as many as there are.

    full: whether the next message had no room
    needed: the bytes of the message that had none, or is not whole; 0 if not known
    """

    full: bool
    needed: int

    def __len__(self) -> int:
        """Return how many messages it has."""

    def take(self, data: bytearray, start: int, end: int) -> int:
        """Take messages of data[start:end]; return where they end, or the first of another kind begins."""


class ReceiveBuffer:
    """The bytes [start, end) of `data`; what is before `start` was taken."""

    __slots__ = ("data", "end", "start")

    def __init__(self) -> None:
        self.data = bytearray()
        self.start = self.end = 0

    def __len__(self) -> int:
        return self.end - self.start

    def room(self, needed: int) -> memoryview:
        """Return the free part of the buffer, so that in all `needed` bytes from `start` on have room."""
        if self.start:
            rest = self.data[self.start : self.end]
            self.data[: len(rest)] = rest
            self.start, self.end = 0, len(rest)
        wanted = max(needed, self.end + LEAST)
        if wanted > len(self.data):
            more = max(FIRST, 2 * len(self.data), wanted) - len(self.data)
            self.data += bytes(more)
        return memoryview(self.data)[self.end :]

    def append(self, data: bytes) -> None:
        """Append bytes that came another way."""
        if not data:
            return
        room = self.room(len(self) + len(data))
        room[: len(data)] = data
        room.release()
        self.end += len(data)

    def take_frame(self) -> bytes:
        """Return the first message or other line, b"" if it is not whole. Raises as `first_frame` does."""
        start, stop = self.start, first_frame(self.data, self.start, self.end)
        self.start = max(start, stop)
        return bytes(self.data[start:stop])

    def clear(self) -> bytes:
        """Return what was not taken, and forget it."""
        rest = bytes(self.data[self.start : self.end])
        self.start = self.end = 0
        return rest
