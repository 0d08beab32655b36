"""Bytes of an unfinished frame, held between two reads.

A frame cut by the end of a read waits here with, if its control line was whole, the number of bytes it needs.
While too few have come they are only listed, so a large payload in many reads is joined once: cost O(n).
Small reads are gathered in one buffer, or the list would take many times as much memory as what it holds; so
are those of a large frame: one large piece of memory goes back to the system when it is freed, many pieces in
between others do not.
"""

_SMALL = 4096  # bytes of a read from which it is listed as it is
_GATHERED = 1 << 18  # bytes of small reads in one buffer: growing, it is copied
_LARGE = 1 << 20  # bytes of a frame that is held in one buffer


class Held:
    """What is left over of earlier reads. size: its length in bytes. need: the length at which it is joined;
    0 while that is not known.
    """

    __slots__ = ("chunks", "need", "size")

    def __init__(self) -> None:
        self.chunks: list[bytes | bytearray] = []
        self.size = 0
        self.need = 0

    def join(self, data: bytes) -> bytes | None:
        """Give all held bytes and `data` as one, or None if the frame still can't be whole."""
        chunks = self.chunks
        self.size += len(data)
        if self.size >= self.need:
            chunks.append(data)
            whole = b"".join(chunks)
            chunks.clear()
            self.size = self.need = 0
            return whole
        if len(data) >= _SMALL and self.need < _LARGE:
            chunks.append(data)
        elif isinstance(chunks[-1], bytearray) and (len(chunks[-1]) < _GATHERED or self.need >= _LARGE):
            chunks[-1] += data
        else:
            chunks.append(bytearray(data))
        return None

    def keep(self, rest: bytes, need: int = 0) -> None:
        """Hold `rest`, the start of a frame that needs `need` bytes in all (0: not known yet)."""
        self.chunks.append(rest)
        self.size = len(rest)
        self.need = need

    def clear(self) -> None:
        """Let go of everything."""
        self.chunks.clear()
        self.size = self.need = 0
