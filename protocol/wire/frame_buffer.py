"""The bytes of an unfinished frame, kept between two reads.

A frame that is cut by the end of a read waits here. If its control line was complete, the number of bytes
that it needs is known. Until they have arrived the pieces are only listed, so that a large payload in many
reads is joined once, at a cost of O(n). Small reads are collected in one buffer, since a list of them would
take many times the memory of their contents. A large frame has a memory mapping of its own. It takes no more
memory than what has arrived, and returns all of it to the system at the end, where many small pieces between
other objects would keep it.
"""

from mmap import mmap

_SMALL = 4096  # bytes of a read from which on it is listed as it is
_GATHERED = 1 << 18  # bytes of small reads in one buffer, bounded because it is copied when it grows
_LARGE = 1 << 21  # bytes of a frame from which on it is mapped
_MOST = 1 << 30  # more than any frame; a frame that needs more has no size yet


class FrameBuffer:
    """What is left over of earlier reads.

    size: its length in bytes.
    need: the length at which the pieces are joined, one byte less than the frame's; 0 while it is not known.
    """

    __slots__ = ("_mapped", "chunks", "need", "size")

    def __init__(self) -> None:
        self.chunks: list[bytes | bytearray] = []
        self.size = 0
        self.need = 0
        self._mapped: mmap | None = None

    @property
    def lacking(self) -> int:
        """How many bytes the frame still needs, up to its end; 0 if that is not known."""
        return self.need + 1 - self.size if 0 < self.need < _MOST else 0

    def join(self, data: bytes) -> bytes | None:
        """Return all buffered bytes and `data` as one, or None if the frame cannot be complete yet."""
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
        """Buffer `rest`, the start of a frame that needs `need` bytes in all (0: not known yet)."""
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
        """Drop everything."""
        self.chunks.clear()
        self.size = self.need = 0
        self._mapped = None
