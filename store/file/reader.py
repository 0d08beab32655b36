"""Reading records from block files: exact reads at first, and read-ahead for a reader that continues."""

from collections import deque
from errno import EIO

from ..handles import Handles
from .block import Block

AHEAD = 1 << 17  # bytes read at once by a reader that continues
_KEPT = 4  # stretches kept in memory, one for each reader


class BlockReader:
    """The reader of one stream.

    It keeps at most `_KEPT` stretches of `AHEAD` bytes, or of one large record.
    """

    def __init__(self, handles: Handles) -> None:
        self._handles = handles
        self._stretches: deque[tuple[Block, int, bytes]] = deque(maxlen=_KEPT)
        self._expected: dict[tuple[Block, int], None] = {}  # where readers that continue would read next

    def read(self, block: Block, offset: int, length: int) -> bytes:
        """Read `length` bytes of a block, or fewer if the file ends before.

        Bytes that the disk can no longer read (EIO) count as missing. Other errors raise OSError.
        """
        end = offset + length
        for owner, start, data in self._stretches:
            if owner is block and start <= offset and end <= start + len(data):
                return data[offset - start : end - start]
        size = length
        if self._continues(block, offset):
            size = max(length, min(AHEAD, block.synced - offset))
        data = self._fetch(block, offset, size)
        if size > length:
            self._stretches.append((block, offset, data))
            self._expect(block, offset + len(data))
            return data[:length]
        self._expect(block, end)
        return data

    def stretch(self, block: Block, offset: int, length: int, wanted: int) -> bytes:
        """Read at least `length` bytes, if the file has them, and about `wanted`, or what is kept already.

        As with `read`, bytes that the disk can no longer read count as missing.
        """
        for owner, start, data in self._stretches:
            if owner is block and start <= offset and offset + length <= start + len(data):
                return data[offset - start :]
        if self._continues(block, offset):
            wanted = block.synced - offset
        data = self._fetch(block, offset, max(length, min(AHEAD, wanted)))
        self._stretches.append((block, offset, data))
        self._expect(block, offset + len(data))
        return data

    def _continues(self, block: Block, offset: int) -> bool:
        """Return whether a reader goes on here, which is then no longer expected."""
        if (block, offset) not in self._expected:
            return False
        del self._expected[block, offset]
        return True

    def _expect(self, block: Block, offset: int) -> None:
        expected = self._expected
        if len(expected) >= 2 * _KEPT:
            del expected[next(iter(expected))]
        expected[block, offset] = None

    def _fetch(self, block: Block, offset: int, size: int) -> bytes:
        try:
            return self._handles.read(block.path, size, offset)
        except OSError as error:
            if error.errno == EIO:
                return b""
            raise

    def forget(self, block: Block) -> None:
        """Drop what is kept of a block."""
        for stretch in [one for one in self._stretches if one[0] is block]:
            self._stretches.remove(stretch)
        for expected in [one for one in self._expected if one[0] is block]:
            del self._expected[expected]
