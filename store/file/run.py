"""Reading many consecutive messages of one block, for a consumer that catches up.

It promises the same as reading each message by itself: every record is checked. It ends before the first
record that is not as it should be, or is still in memory; the caller reads that one by itself. It works in
columns, since a loop over the records would take twice as long.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import islice, repeat
from operator import add, eq
from zlib import crc32

from .. import record
from ..message import StoredMessage
from .block import LENGTH, Block
from .reader import BlockReader

_MAGIC = record.MAGIC
_CHECKSUM = 4  # bytes of the checksum, which covers what follows it
_BEFORE_SUBJECT = record.FIXED - _CHECKSUM
_unpack_all = record.unpack_all
_make = tuple.__new__


def read_run(
    reader: BlockReader, block: Block, seqs: Sequence[int], names: Sequence[str], size: int
) -> list[StoredMessage]:
    """Read the first of the messages `seqs` of a block: those in its file, as many as one stretch holds.

    Stops once the records make `size` bytes.
    """
    rows = _rows(block, seqs)
    if not len(rows):
        return []
    offsets = _taken(block.offsets, rows)
    start = offsets[0]
    lengths = [flagged & LENGTH for flagged in _taken(block.lengths, rows)]
    count = bisect_left(offsets, start + size, 1)
    data = reader.stretch(block, start, lengths[0], offsets[count - 1] + lengths[count - 1] - start)
    count = bisect_right(offsets, start + len(data), 0, count)
    if count and offsets[count - 1] + lengths[count - 1] > start + len(data):
        count -= 1
    if not count:
        return []
    places = [offset - start for offset in offsets[:count]]
    subjects = map(names.__getitem__, _taken(block.subjects, rows[:count]))
    return _decode(data, block.seed, places, lengths[:count], seqs[:count], subjects)


def _decode(
    data: bytes,
    seed: int,
    places: Sequence[int],
    lengths: Sequence[int],
    seqs: Sequence[int],
    subjects: Iterable[str],
) -> list[StoredMessage]:
    """Return messages for the records at these places, up to the first that is not as it should be."""
    fields = map(_unpack_all, repeat(data), places)
    checksums, magics, _, keys, wholes, headers, numbers, times = zip(*fields, strict=True)
    bounds = zip(places, lengths, strict=True)
    checked = [data[place + _CHECKSUM : place + length] for place, length in bounds]
    sums = tuple(map(crc32, checked, repeat(seed)))
    good = _agreeing(
        (checksums, wholes, numbers, magics),
        (sums, tuple(lengths), tuple(seqs), (_MAGIC,) * len(sums)),
    )
    starts: Iterable[int] = [_BEFORE_SUBJECT + key for key in keys]
    blocks: Iterable[bytes] = repeat(b"")
    if any(headers):
        blocks = [one[at : at + size] for one, at, size in zip(checked, starts, headers, strict=True)]
        starts = map(add, starts, headers)
    bodies = [one[at:] for one, at in zip(checked, starts, strict=True)]
    columns = zip(seqs, subjects, blocks, bodies, times, strict=False)
    return list(map(_make, repeat(StoredMessage), islice(columns, good)))


def _agreeing(said: tuple[tuple[int, ...], ...], true: tuple[tuple[int, ...], ...]) -> int:
    """Return how many rows of the columns are equal before the first that is not."""
    if said == true:
        return len(true[0])
    return [*map(eq, zip(*said, strict=True), zip(*true, strict=True)), False].index(False)


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


def _taken(column: "array[int]", rows: Sequence[int]) -> Sequence[int]:
    if isinstance(rows, range):
        return column[rows[0] : rows[-1] + 1]
    return [column[row] for row in rows]
