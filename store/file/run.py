"""Reading many consecutive messages of one block, for a consumer that catches up.

It promises the same as reading each message by itself: every record is checked. It ends before the first
record that is not as it should be, or is still in memory; the caller reads that one by itself.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from ...native import decode_messages
from ..message import StoredMessage
from .block import LENGTH, Block
from .reader import BlockReader


def read_run(
    reader: BlockReader, block: Block, seqs: Sequence[int], names: list[str], size: int
) -> list[StoredMessage]:
    """Read the first of the messages `seqs` of a block: those in its file, as many as one stretch holds.

    Stops once the records make `size` bytes.
    """
    rows = _rows(block, seqs)
    if not len(rows):
        return []
    offsets, lengths = _taken(block.offsets, rows), _taken(block.lengths, rows)
    start = offsets[0]
    count = bisect_left(offsets, start + size, 1)
    wanted = offsets[count - 1] + (lengths[count - 1] & LENGTH) - start
    data = reader.stretch(block, start, lengths[0] & LENGTH, wanted)
    count = bisect_left(offsets, start + len(data), 0, count)  # those that begin in it
    if not count:
        return []
    numbers = _taken(block.subjects, rows[:count])
    columns = offsets[:count], lengths[:count], numbers
    return decode_messages(StoredMessage, data, start, block.seed, seqs[:count], *columns, names)


def _rows(block: Block, seqs: Sequence[int]) -> Sequence[int]:
    """Return the rows of these messages, up to the first that is in memory or in another block."""
    last = block.last_row_seq
    if seqs[-1] > last:
        seqs = seqs[: bisect_right(seqs, last)]
    if not seqs:
        return ()
    rows: Sequence[int]
    if block.sparse is None and seqs[-1] - seqs[0] == len(seqs) - 1:
        rows = range(seqs[0] - block.first, seqs[-1] - block.first + 1)
    else:
        rows = [block.row_of(seq) for seq in seqs]
    return rows[: bisect_left(rows, block.tail_row)]


def _taken(column: "array[int]", rows: Sequence[int]) -> "array[int]":
    if isinstance(rows, range):
        return column[rows[0] : rows[-1] + 1]
    return array(column.typecode, [column[row] for row in rows])
