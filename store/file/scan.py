"""Reading a whole block: what is in it, what is damaged, and where a write was cut short.

A commit ends with a COMMIT record, and the next one begins only after it was synced (on a disk that delays
syncs: written). So an invalid record before the last COMMIT of the stream's last block, or anywhere in an
earlier block, is damage. After the last COMMIT it is a write that never ended, whose messages nobody knows
of. So is a last commit in which whole sectors are zeros, unless it is known to have been synced: where zeros
were written ahead (`Block.take`), a power cut can leave any sectors of the commit that was being written.
"""

from dataclasses import field
from struct import Struct
from zlib import crc32

from ...protocol.lazy_dataclass import dataclass
from .. import record
from ..indexed import MOST_NAMED
from .block import HAS_HEADER, Block
from .header import HEADER_SIZE, BlockHeader
from .sidecar import BlockIndex

_U64 = Struct("<Q")
_SECTOR = 512  # the least that a disk writes as a whole


@dataclass(slots=True)
class Hole:
    """Bytes from `start` to `end` that are not a record.

    after: the last sequence before it. up_to: the last sequence that may be lost in it, 0 if unknown.
    """

    start: int
    end: int
    after: int
    up_to: int = 0


@dataclass(slots=True)
class BlockScan:
    """What a block holds.

    index: its rows.
    end: where its records end.
    cut: whether the damage is at its end, so that nothing may be written behind it.
    damage: (which bytes are bad, the sequences that were there).
    """

    index: BlockIndex
    end: int
    cut: bool = False
    damage: list[tuple[str, list[int]]] = field(default_factory=list)


class _Reader:
    """One pass over a block's bytes."""

    def __init__(self, path: str, header: BlockHeader, data: bytes) -> None:
        self.data = data
        self.block = Block(path, header)
        self.ids: dict[bytes, int] = {}
        self.last = header.last_seq
        self.committed = HEADER_SIZE
        self.note = b""
        self.begun, self.earlier_note = HEADER_SIZE, b""  # where the last commit begins, the note before it
        self.holes: list[Hole] = []

    def run(self) -> None:
        data, seed, size = self.data, self.block.seed, len(self.data)
        view = memoryview(data)
        unpack, fixed, magic_byte = record.unpack_all, record.FIXED, record.MAGIC
        offset = HEADER_SIZE
        while offset < size:
            if offset + fixed <= size:
                checksum, magic, kind, subject, length, header, seq, time = unpack(data, offset)
                end = offset + length
                if (
                    magic == magic_byte
                    and end <= size
                    and length >= fixed + subject + header
                    and crc32(view[offset + 4 : end], seed) == checksum
                    and self.accept(kind, seq, time, offset, length, subject, header)
                ):
                    offset = end
                    continue
            following = record.resync(data, offset + 1, seed)
            self.holes.append(Hole(offset, following, self.last))
            offset = following

    def accept(
        self, kind: int, seq: int, time: int, offset: int, length: int, subject: int, header: int
    ) -> bool:
        """Take a valid record. Return False if it cannot be at this place."""
        block = self.block
        if kind == record.MESSAGE:
            if seq <= self.last:
                return False
            self.know(seq - 1)
            self.last = block.state_last = seq
            block.state_time = time
            at = offset + record.FIXED
            key = self.data[at : at + subject]
            number = self.ids.setdefault(key, len(self.ids))
            block.add_row(seq, offset, length | HAS_HEADER if header else length, time, number)
            return True
        body = self.data[offset + record.FIXED + subject + header : offset + length]
        if kind == record.COMMIT:
            self.know(seq)
            self.begun, self.earlier_note = self.committed, self.note
            self.committed, self.note = offset + length, body
            block.state_last, block.state_time = max(block.state_last, seq), time
        elif kind == record.DELETE:
            self.know(seq)
            block.tombstones.extend(record.pairs_from_bytes(body))
        elif kind == record.STATE:
            block.state_floor = max(block.state_floor, seq)
            block.state_last = max(block.state_last, _U64.unpack(body)[0])
            block.state_time = time
            self.know(block.state_last)
        elif kind == record.ERASED:
            self.know(seq - 1)
            self.last = max(seq, self.last)
            block.state_last, block.state_time = max(block.state_last, seq), time
        return True

    def torn(self, hole: Hole) -> bool:
        """Return whether a hole is what a write that never ended leaves: sectors of the last commit lack."""
        if not self.begun <= hole.start < self.committed:
            return False
        first = hole.start // _SECTOR * _SECTOR
        return any(
            not any(self.data[max(at, self.begun) : at + _SECTOR]) for at in range(first, hole.end, _SECTOR)
        )

    def know(self, up_to: int) -> None:
        """Bound the open hole: the present record shows that nothing above `up_to` was lost in it."""
        if self.holes and not self.holes[-1].up_to:
            self.holes[-1].up_to = max(up_to, self.holes[-1].after)


def _lost_in(data: bytes, hole: Hole) -> list[int]:
    """Return the messages that were in a hole, as far as its neighbours and its remains tell."""
    missing = range(hole.after + 1, hole.up_to + 1)
    if len(missing) <= (hole.end - hole.start) // (record.FIXED + 1):
        return list(missing)
    # There are fewer bytes than sequences, so most of these were never used, or their messages are removed.
    claimed = dict(record.claimed_seqs(data, hole.start, hole.end, hole.after, hole.up_to + 1))
    if claimed and sum(claimed.values()) >= hole.end - hole.start - record.FIXED:
        return sorted(claimed)
    return list(missing[-MOST_NAMED:])


def last_commit(path: str, header: BlockHeader, data: bytes) -> tuple[int, bytes]:
    """Return where the last whole commit in a block ends (`HEADER_SIZE` if there is none), and its note."""
    reader = _Reader(path, header, data)
    reader.run()
    if any(map(reader.torn, reader.holes)):
        return reader.begun, reader.earlier_note
    return reader.committed, reader.note


def scan(
    path: str, header: BlockHeader, data: bytes, *, next_last: int | None, synced: int = 0, last_seq: int = 0
) -> BlockScan:
    """Read a block from the bytes of its file.

    next_last: the last sequence before the block that follows. None for the last block, whose end may be an
        unfinished write; `BlockScan.end` is where that begins.
    synced: the bytes that are known to have been on the disk. No unfinished write begins before.
    last_seq: the last sequence when these were synced.
    """
    reader = _Reader(path, header, data)
    reader.run()
    if next_last is None:
        for hole in reader.holes:
            if hole.start >= synced and (hole.start >= reader.committed or reader.torn(hole)):
                rest = data[: hole.start]
                return scan(path, header, rest, next_last=None, synced=synced, last_seq=last_seq)
        reader.know(last_seq)
    else:
        whole = not reader.holes or reader.holes[-1].end < len(data)
        if header.generation and reader.committed != len(data) and whole:
            # A rewritten block ends with a COMMIT. If this one does not, something was cut off.
            reader.holes.append(Hole(len(data), len(data), reader.last))
        reader.know(next_last)
    block = reader.block
    block.created = True
    block.end = block.taken = block.synced = len(data)
    block.tail_row = len(block)
    cut = bool(reader.holes) and reader.holes[-1].end == len(data)
    names = [name.decode("utf-8", "surrogateescape") for name in reader.ids]
    result = BlockScan(BlockIndex(block, names), len(data), cut)
    for hole in reader.holes:
        lost = _lost_in(data, hole)
        result.damage.append((f"{path}: bytes {hole.start} to {hole.end} damaged", lost))
    return result
