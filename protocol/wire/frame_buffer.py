"""Bytes of an unfinished frame, kept between two reads.

A frame cut by the end of a read waits here with, if its control line was whole, the number of bytes it needs.
While too few have come they are only listed, so a large payload in many reads is joined once: cost O(n).
Small reads are gathered in one buffer, or the list would take many times as much memory as what it holds. A
large frame has a mapping of its own, which takes no more memory than what has come, and all of which goes
back to the system at the end: what many pieces took in between others would stay.
"""

from mmap import mmap

_SMALL = 4096  # bytes of a read from which it is listed as it is
_GATHERED = 1 << 18  # bytes of small reads in one buffer: growing, it is copied
_LARGE = 1 << 21  # bytes of a frame from which it is mapped
_MOST = 1 << 30  # more than any frame: what has no size yet


class FrameBuffer:
    """What is left over of earlier reads. size: its length in bytes. need: the length at which it is joined;
    0 while that is not known.
    """

    __slots__ = ("_mapped", "chunks", "need", "size")

    def __init__(self) -> None:
        self.chunks: list[bytes | bytearray] = []
        self.size = 0
        self.need = 0
        self._mapped: mmap | None = None

    def join(self, data: bytes) -> bytes | None:
        """Give all buffered bytes and `data` as one, or None if the frame still can't be whole."""
        chunks, before = self.chunks, self.size
        self.size += len(data)
        if self.size >= self.need:
            if self._mapped is not None:
                with memoryview(self._mapped) as view:
                    whole = b"".join((view[:before], data))
            else:
                chunks.append(data)
                whole = b"".join(chunks)
            self.clear()
            return whole
        if self._mapped is not None:
            self._mapped[before : self.size] = data
        elif len(data) >= _SMALL:
            chunks.append(data)
        elif isinstance(chunks[-1], bytearray) and len(chunks[-1]) < _GATHERED:
            chunks[-1] += data
        else:
            chunks.append(bytearray(data))
        return None

    def keep(self, rest: bytes, need: int = 0) -> None:
        """Hold `rest`, the start of a frame that needs `need` bytes in all (0: not known yet)."""
        self.size = len(rest)
        self.need = need
        if _LARGE <= need < _MOST:
            try:
                self._mapped = mmap(-1, need)
            except OSError:  # the system promises no memory before it is used
                pass
            else:
                self._mapped[: len(rest)] = rest
                rest = b""
        self.chunks.append(rest)

    def clear(self) -> None:
        """Let go of everything."""
        self.chunks.clear()
        self.size = self.need = 0
        self._mapped = None
