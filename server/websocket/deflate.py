"""permessage-deflate without context takeover: each message is compressed by itself (RFC 7692).

Inflating is bounded twice: each step returns at most one piece, and a message may inflate to so many bytes
and no more, so that a few kilobytes cannot become work for minutes.
"""

from __future__ import annotations

import zlib

from .errors import TOO_BIG, WebSocketError

PIECE = 1 << 16
EXTENSION = "permessage-deflate"
_NO_CONTEXT = ("server_no_context_takeover", "client_no_context_takeover")
OFFER = "; ".join((EXTENSION, *_NO_CONTEXT))
_TAIL = b"\x00\x00\xff\xff"  # ends what a deflater flushes; not sent
_LEVEL = 1


def offered(values: list[str]) -> tuple[bool, bool]:
    """Return whether the extension stands in these headers, and whether neither side may keep its context."""
    for value in values:
        for extension in value.split(","):
            name, *parameters = [part.strip().lower() for part in extension.split(";")]
            if name == EXTENSION:
                return True, all(each in parameters for each in _NO_CONTEXT)
    return False, False


def deflate(data: bytes) -> bytes:
    """Return the payload of a compressed message."""
    deflater = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    return (deflater.compress(data) + deflater.flush(zlib.Z_SYNC_FLUSH))[: -len(_TAIL)]


class Inflater:
    """Inflates messages as their parts arrive. A message may inflate to `most` bytes."""

    __slots__ = ("_data", "_inflater", "_last", "_most", "_total")

    def __init__(self, most: int) -> None:
        self._most = most
        self._inflater = zlib.decompressobj(-zlib.MAX_WBITS)
        self._data = b""
        self._last = False
        self._total = 0

    def feed(self, data: bytes, *, last: bool) -> None:
        """Take a part of a message. What was fed before must have been taken."""
        self._data = data + _TAIL if last else data
        self._last = last

    def take(self) -> bytes:
        """Return the next piece, b"" when a further part is needed. Raises WebSocketError."""
        try:
            piece = self._inflater.decompress(self._data, PIECE)
        except zlib.error as error:
            raise WebSocketError(f"invalid compressed data: {error}") from error
        self._data = self._inflater.unconsumed_tail
        self._total += len(piece)
        if self._total > self._most:
            raise WebSocketError("maximum payload exceeded", TOO_BIG)
        if not piece and self._last:
            self._inflater = zlib.decompressobj(-zlib.MAX_WBITS)
            self._last = False
            self._total = 0
        return piece
