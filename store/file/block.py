"""A block: one append-only file of a stream, and the position of each of its messages in memory.

A message takes 20 bytes of memory: offset, length, time and subject id, in typed columns. Its sequence is
implied while sequences are dense, and takes 8 bytes more when they are not. A removed message keeps its row,
with length 0, until the block is compacted. The row marks that a tombstone for the message is still needed.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator
from itertools import compress

from ...native import records
from ...protocol.lazy_dataclass import dataclass
from .. import record
from .header import HEADER_SIZE, BlockHeader

HAS_HEADER = records.HAS_HEADER  # in the lengths column
LENGTH = records.LENGTH
AHEAD = 64 * 1024  # zeros that are written ahead of a block's end at once
_SMALL = 4096  # bytes of a commit that is small
_RUN = 16  # small commits in a row, after which zeros are written ahead of the next ones


class Block:
    """One block of a stream.

    Invariants:
     1. rows are in ascending order of sequence, all above `header.last_seq`;
     2. `live` and `live_bytes` (reference accounting) count the rows whose length is not 0;
     3. rows from `tail_row` on have their records in `tail`; earlier rows are on the disk, below `synced`;
     4. `pending` holds the bytes from `taken` to `end`, which no commit has taken yet.
    """

    __slots__ = (
        "created",
        "damaged",
        "dead_size",
        "end",
        "first",
        "header",
        "indexed",
        "lengths",
        "live",
        "live_bytes",
        "max_time",
        "offsets",
        "packed",
        "path",
        "pending",
        "reserved",
        "seed",
        "small",
        "sparse",
        "state_floor",
        "state_last",
        "state_time",
        "subjects",
        "synced",
        "tail",
        "tail_row",
        "taken",
        "times",
        "tombstones",
    )

    def __init__(self, path: str, header: BlockHeader) -> None:
        self.path = path
        self.header = header
        self.seed = header.seed
        self.created = False  # whether the file exists, with its header
        self.indexed = 0  # `end` according to the sidecar on the disk; 0 if there is none
        self.packed = False  # whether there is nothing to gain from packing its file
        self.damaged = False  # whether it must not be rewritten, because its bytes are evidence
        self.first = header.last_seq + 1
        self.sparse: array[int] | None = None
        self.offsets = array("I")
        self.lengths = array("I")
        self.times = array("q")
        self.subjects = array("I")
        self.tombstones = array("Q")  # pairs (first, last) of the DELETE records in this file
        self.live = 0
        self.live_bytes = 0
        self.dead_size = 0  # bytes in the file that no message needs any more
        self.max_time = header.last_time
        # The stream's figures at the end of the block.
        self.state_floor = header.floor
        self.state_last = header.last_seq
        self.state_time = header.last_time
        self.end = HEADER_SIZE
        self.taken = HEADER_SIZE
        self.synced = HEADER_SIZE
        self.reserved = 0  # where the zeros end that were written ahead; 0 if there are none behind `taken`
        self.small = 0  # how many commits in a row were small
        self.pending: list[bytes] = []
        self.tail: list[bytes] = []
        self.tail_row = 0

    def __len__(self) -> int:
        return len(self.offsets)

    @property
    def last_row_seq(self) -> int:
        """The sequence of the last row, or `last_seq` of the header if there is no row."""
        if self.sparse is not None:
            return self.sparse[-1]
        return self.first + len(self.offsets) - 1 if self.offsets else self.header.last_seq

    def seq_of(self, row: int) -> int:
        """Return the sequence of a row."""
        return self.first + row if self.sparse is None else self.sparse[row]

    def seqs(self) -> array[int]:
        """Return the sequences of all rows."""
        if self.sparse is None:
            return array("Q", range(self.first, self.first + len(self.offsets)))
        return self.sparse

    def row_of(self, seq: int) -> int:
        """Return the row of a sequence, -1 if it has none."""
        if self.sparse is None:
            row = seq - self.first
            return row if 0 <= row < len(self.offsets) else -1
        row = bisect_left(self.sparse, seq)
        return row if row < len(self.sparse) and self.sparse[row] == seq else -1

    def row_from(self, seq: int) -> int:
        """Return the first row whose sequence is at least `seq`, or the number of rows if there is none."""
        if self.sparse is None:
            return min(max(seq - self.first, 0), len(self.offsets))
        return bisect_left(self.sparse, seq)

    def row_at(self, time: int) -> int:
        """Return the first row of a message with this or a later time, -1 if there is none."""
        late = compress(range(len(self.times)), map(time.__le__, self.times))
        return next((row for row in late if self.lengths[row]), -1)

    def headed(self, from_seq: int) -> Iterator[int]:
        """Iterate over the sequences, from `from_seq` on, of messages that have a header."""
        for row in range(self.row_from(from_seq), len(self.lengths)):
            if self.lengths[row] & HAS_HEADER:
                yield self.seq_of(row)

    def make_sparse(self, seq: int) -> None:
        """Prepare for a row for `seq`, which does not follow the last one."""
        if not self.offsets:
            self.first = seq
        elif self.sparse is None:
            self.sparse = self.seqs()

    def add_row(self, seq: int, offset: int, length: int, time: int, subject: int) -> None:
        """Add a row that was found on the disk. (The append path does the same inline.)"""
        if seq != self.first + len(self.offsets) or self.sparse is not None:
            self.make_sparse(seq)
            if self.sparse is not None:
                self.sparse.append(seq)
        self.offsets.append(offset)
        self.lengths.append(length)
        self.times.append(time)
        self.subjects.append(subject)
        self.max_time = max(self.max_time, time)

    def add_records(
        self,
        seqs: array[int],
        records: list[bytes],
        offsets: array[int],
        lengths: array[int],
        headed: int,
        subjects: array[int],
        times: array[int],
    ) -> int:
        """Add the records of new messages, which come after the last row. Return what they count.

        records, offsets, lengths, headed: as `native.encode_messages` returns them for `seqs` and `times`.
        subjects: the ids of their subjects.
        """
        count, before = len(records), self.end
        if self.sparse is not None or seqs[-1] != self.first + len(self.offsets) + count - 1:
            self.make_sparse(seqs[0])
            if self.sparse is None and seqs[-1] - seqs[0] != count - 1:
                self.sparse = self.seqs()
            if self.sparse is not None:
                self.sparse.extend(seqs)
        self.pending.extend(records)
        self.tail.extend(records)
        self.end = offsets[-1] + len(records[-1])
        self.offsets.extend(offsets)
        self.lengths.extend(lengths)
        self.times.extend(times)
        self.subjects.extend(subjects)
        self.live += count
        self.max_time = max(self.max_time, *times)
        size = self.end - before - 2 * count + 4 * headed
        self.live_bytes += size
        return size

    def mark_removed(self, row: int) -> int:
        """Mark a live row as removed, and return the bytes that it counted for."""
        length = self.lengths[row]
        self.lengths[row] = 0
        size = accounted(length)
        self.live -= 1
        self.live_bytes -= size
        self.dead_size += length & LENGTH
        return size

    def mark_removed_before(self, seq: int) -> int:
        """Mark all rows below `seq` as removed, and return the bytes that they counted for."""
        if seq > self.last_row_seq:
            size = self.live_bytes
            self.dead_size = self.end - HEADER_SIZE
            self.live = self.live_bytes = 0
            self.lengths = array("I", bytes(4 * len(self.lengths)))
            return size
        row = self.row_from(seq)
        killed = self.lengths[:row]
        self.lengths[:row] = array("I", bytes(4 * row))
        # The flag bits add up above the lengths, as no block comes near 2 GiB.
        with_header, in_file = sum(killed) >> 31, sum(killed) & LENGTH
        count = row - killed.count(0)
        size = in_file + accounted(0) * count + 4 * with_header
        self.live -= count
        self.live_bytes -= size
        self.dead_size += in_file
        return size

    def add_pending(self, data: bytes) -> None:
        """Buffer bytes that are not a message."""
        self.pending.append(data)
        self.end += len(data)

    def trim_tail(self, limit: int) -> None:
        """If more than `limit` bytes are in memory, drop synced records until half of that is left."""
        if not self.tail or self.end - self.offsets[self.tail_row] <= limit:
            return
        keep_from = bisect_left(self.offsets, self.end - limit // 2, self.tail_row)
        unsynced = bisect_left(self.offsets, self.synced, self.tail_row)
        row = min(keep_from, unsynced)
        del self.tail[: row - self.tail_row]
        self.tail_row = row

    def drop_tail(self) -> None:
        """Drop all records from memory. All of them must be synced."""
        self.tail = []
        self.tail_row = len(self.offsets)

    def take(self, *, ahead: bool = False) -> BlockWrite:
        """Take the pending bytes, and the header if the file does not exist yet.

        ahead: whether zeros may be written ahead. A sync then needs no change of the file's size.
        """
        header = b"" if self.created else self.header.encode()
        size = self.end - self.taken
        write = BlockWrite(self, self.taken, self.pending, size, self.end, header)
        self.pending = []
        self.taken = self.end
        self.created = True
        self.small = self.small + 1 if size <= _SMALL else 0
        if self.end >= self.reserved:
            self.reserved = 0
            if ahead and self.small > _RUN:
                self.reserved, write.ahead = self.end + AHEAD, AHEAD
        return write

    def take_last(self) -> BlockWrite:
        """Take what is pending, as nothing more will be added: the zeros behind it are cut off."""
        cut, write = self.reserved > 0, self.take()
        write.cut, self.reserved = cut, 0
        return write


@dataclass(slots=True)
class BlockWrite:
    """Bytes of one block that are to be written from `offset` on, and synced; its file then ends at `end`.

    parts: the bytes, one after the other; size: how many these are.
    header: what to create the file with, b"" if it exists.
    ahead: how many zeros to write behind `end`.
    cut: whether to cut off what is behind `end`.
    """

    block: Block
    offset: int
    parts: list[bytes]
    size: int
    end: int
    header: bytes
    ahead: int = 0
    cut: bool = False


def accounted(length: int) -> int:
    """Return what a message counts by the reference's accounting, from its entry in the lengths column.

    The reference counts 22 + subject + [4 + header] + body + 8, while a record takes 32 + subject + header +
    body.
    """
    return length - record.FIXED + 30 if length < HAS_HEADER else (length & LENGTH) - record.FIXED + 34
