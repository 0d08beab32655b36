"""Bytes of an unfinished frame, held between two reads.

A frame cut by the end of a read waits here with, if its control line was whole, the number of bytes it needs.
While too few have come they are only listed, so a large payload in many reads is joined once: cost O(n).
"""


class Held:
    """What is left over of earlier reads. `size` is its length in bytes."""

    __slots__ = ("chunks", "need", "size")

    def __init__(self) -> None:
        self.chunks: list[bytes] = []
        self.size = 0
        self.need = 0

    def join(self, data: bytes) -> bytes | None:
        """Give all held bytes and `data` as one, or None if the frame still can't be whole."""
        self.chunks.append(data)
        self.size += len(data)
        if self.size < self.need:
            return None
        whole = b"".join(self.chunks)
        self.chunks.clear()
        self.size = self.need = 0
        return whole

    def keep(self, rest: bytes, need: int = 0) -> None:
        """Hold `rest`, the start of a frame that needs `need` bytes in all (0: not known yet)."""
        self.chunks.append(rest)
        self.size = len(rest)
        self.need = need
