"""Reading many messages of one block in a row: what serves a consumer that catches up.

Promises the same as reading each by itself: every record is checked. Ends before the first record that is not
as it should be, which is then for the patient way to look at, and at what is still in memory.
"""

from collections.abc import Sequence
from zlib import crc32

from .. import record
from ..message import StoredMessage
from .block import LENGTH, Block
from .reader import BlockReader

_FIXED, _MAGIC = record.FIXED, record.MAGIC
_CHECKSUM = 4  # bytes before what the checksum covers
_unpack_all = record.unpack_all


def read_run(
    reader: BlockReader, block: Block, seqs: Sequence[int], names: Sequence[str], size: int
) -> list[StoredMessage]:
    """Read the messages `seqs` of a block, as far as they are in its file, until their bodies make `size`."""
    offsets, lengths, subjects, seed = block.offsets, block.lengths, block.subjects, block.seed
    first, dense, tail_row, last = block.first, block.sparse is None, block.tail_row, block.last_row_seq
    make, kind = tuple.__new__, StoredMessage
    found: list[StoredMessage] = []
    start, data = 0, b""
    end = _end_of(block, seqs)
    for seq in seqs:
        if seq > last:
            break
        row = seq - first if dense else block.row_of(seq)
        if row >= tail_row:
            break
        length = lengths[row] & LENGTH
        at = offsets[row] - start
        if at + length > len(data):
            start, at = offsets[row], 0
            data = reader.stretch(block, start, length, end - start)
            if len(data) < length:
                break
        checksum, magic, _, subject, whole, header, number, time = _unpack_all(data, at)
        checked = data[at + _CHECKSUM : at + length]
        if magic != _MAGIC or whole != length or number != seq or crc32(checked, seed) != checksum:
            break
        at = _FIXED - _CHECKSUM + subject
        head = checked[at : at + header] if header else b""
        body = checked[at + header :]
        found.append(make(kind, (seq, names[subjects[row]], head, body, time)))
        size -= len(body)
        if size <= 0:
            break
    return found


def _end_of(block: Block, seqs: Sequence[int]) -> int:
    """Where in the file the last of these messages ends."""
    row = block.row_of(seqs[-1]) if seqs[-1] <= block.last_row_seq else len(block) - 1
    row = min(row, block.tail_row - 1)
    return block.offsets[row] + (block.lengths[row] & LENGTH) if row >= 0 else 0
