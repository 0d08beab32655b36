"""Reading many messages of one block in a row: what serves a consumer that catches up.

Promises the same as reading each by itself: every record is checked. Ends before the first record that is not
as it should be, which is then for the patient way to look at, and at what is still in memory.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from zlib import crc32

from .. import record
from ..message import StoredMessage
from .block import LENGTH, Block
from .reader import BlockReader

_FIXED, _MAGIC = record.FIXED, record.MAGIC
_CHECKSUM = 4  # bytes before what the checksum covers
_BEFORE_SUBJECT = _FIXED - _CHECKSUM
_unpack_all = record.unpack_all


def read_run(
    reader: BlockReader, block: Block, seqs: Sequence[int], names: Sequence[str], size: int
) -> list[StoredMessage]:
    """Read the messages `seqs` of a block, as far as they are in its file, until their bodies make `size`."""
    rows = _rows(block, seqs)
    if not len(rows):
        return []
    seed, make, kind = block.seed, tuple.__new__, StoredMessage
    found: list[StoredMessage] = []
    add = found.append
    start = have = 0
    data = b""
    end = block.offsets[rows[-1]] + (block.lengths[rows[-1]] & LENGTH)
    columns = (_taken(column, rows) for column in (block.offsets, block.lengths, block.subjects))
    for seq, offset, flagged, name in zip(seqs, *columns, strict=False):
        length = flagged & LENGTH
        at = offset - start
        if at + length > have:
            start, at = offset, 0
            data = reader.stretch(block, start, length, end - start)
            have = len(data)
            if have < length:
                break
        checksum, magic, _, subject, whole, header, number, time = _unpack_all(data, at)
        checked = data[at + _CHECKSUM : at + length]
        if crc32(checked, seed) != checksum or number != seq or whole != length or magic != _MAGIC:
            break
        at = _BEFORE_SUBJECT + subject
        if header:
            body = checked[at + header :]
            add(make(kind, (seq, names[name], checked[at : at + header], body, time)))
        else:
            body = checked[at:]
            add(make(kind, (seq, names[name], b"", body, time)))
        size -= len(body)
        if size <= 0:
            break
    return found


def _rows(block: Block, seqs: Sequence[int]) -> Sequence[int]:
    """The rows of these messages, up to the first that is in memory or in another block."""
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


def _taken(column: "array[int]", rows: Sequence[int]) -> Iterable[int]:
    if isinstance(rows, range):
        return column[rows[0] : rows[-1] + 1]
    return [column[row] for row in rows]
