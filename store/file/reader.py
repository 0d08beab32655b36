"""Reading records from block files: exact reads at first, and read-ahead for a reader that continues."""

from collections import deque
from errno import EIO

from ..fs import FileSystem
from ..handles import Handles
from .block import Block

AHEAD = 1 << 17  # bytes read at once by a reader that continues
_KEPT = 4  # stretches kept in memory, one for each reader


class BlockReader:
    """The reader of one stream.

    It keeps at most `_KEPT` stretches of `AHEAD` bytes, or of one large record.
    """

    def __init__(self, fs: FileSystem, handles: Handles) -> None:
        self._fs = fs
        self._handles = handles
        self._stretches: deque[tuple[Block, int, bytes]] = deque(maxlen=_KEPT)
        self._expected: deque[tuple[Block, int]] = deque(maxlen=2 * _KEPT)

    def read(self, block: Block, offset: int, length: int) -> bytes:
        """Read `length` bytes of a block, or fewer if the file ends before.

        Bytes that the disk can no longer read (EIO) count as missing. Other errors raise OSError.
        """
        end = offset + length
        for held, start, data in self._stretches:
            if held is block and start <= offset and end <= start + len(data):
                return data[offset - start : end - start]
        size = length
        for place, (held, expected) in enumerate(self._expected):
            if held is block and expected == offset:
                size = max(length, min(AHEAD, block.synced - offset))
                del self._expected[place]
                break
        data = self._fetch(block, offset, size)
        if size > length:
            self._stretches.append((block, offset, data))
            self._expected.append((block, offset + len(data)))
        else:
            self._expected.append((block, end))
        return data[:length]

    def stretch(self, block: Block, offset: int, length: int, wanted: int) -> bytes:
        """Read at least `length` bytes, if the file has them, and about `wanted`, or what is kept already.

        As with `read`, bytes that the disk can no longer read count as missing.
        """
        for held, start, data in self._stretches:
            if held is block and start <= offset and offset + length <= start + len(data):
                return data[offset - start :]
        if (block, offset) in self._expected:
            self._expected.remove((block, offset))
            wanted = block.synced - offset
        data = self._fetch(block, offset, max(length, min(AHEAD, wanted)))
        self._stretches.append((block, offset, data))
        self._expected.append((block, offset + len(data)))
        return data

    def _fetch(self, block: Block, offset: int, size: int) -> bytes:
        try:
            with self._handles.pinned(block.path) as file:
                return self._fs.read(file, size, offset)
        except OSError as error:
            if error.errno == EIO:
                return b""
            raise

    def forget(self, block: Block) -> None:
        """Drop what is kept of a block."""
        for stretch in [one for one in self._stretches if one[0] is block]:
            self._stretches.remove(stretch)
        for expected in [one for one in self._expected if one[0] is block]:
            self._expected.remove(expected)
