"""Compaction: rewriting blocks without the removed messages, and merging small blocks.

It chooses sealed, undamaged blocks: either one of which at least half is removed messages, or neighbours that
together fill less than half a block. `run` reads them in another thread, checks every record that it copies,
and puts one synced file of the next generation in place. The stream reads the old files until `finish`.
Tombstones that are still needed, for messages in other blocks, are kept. A stream that has lost something
keeps all of them, because they record which of the lost messages were removed. A block that is found damaged
is left as it is.
"""

from array import array
from bisect import bisect_right
from collections.abc import Sequence
from itertools import chain, compress
from struct import Struct

from .. import record
from ..fs import FileSystem, read_file, write_new
from ..handles import Handles
from .block import LENGTH, Block
from .commit import leave_sidecar, remove_block
from .header import HEADER_SIZE, make_seed
from .ownership import block_path

_U64 = Struct("<Q")


def choose_run(blocks: Sequence[Block], block_size: int) -> list[Block]:
    """Return neighbouring sealed blocks to rewrite as one. Empty if there is nothing to gain."""
    for index, block in enumerate(blocks[:-1]):
        if block.damaged or not block.created:
            continue
        wasteful = block.dead_size * 2 >= block.end and block.dead_size > record.FIXED * 2
        run, size = [block], _needed(block)
        for following in blocks[index + 1 : -1]:
            size += _needed(following)
            follows = following.header.number == run[-1].header.until + 1  # a gap means that a block is lost
            if following.damaged or not following.created or not follows or size > block_size // 2:
                break
            run.append(following)
        if wasteful or len(run) > 1:
            return run
    return []


def _needed(block: Block) -> int:
    return block.end - block.dead_size - HEADER_SIZE


def _needed_tombs(run: Sequence[Block], outside: Sequence[Block]) -> "array[int]":
    """Return the deleted ranges in `run` that cover a removed message which is still in a file outside."""
    kept = array("Q")
    bases = [block.header.last_seq for block in outside]
    for block in run:
        for low, high in zip(block.tombstones[::2], block.tombstones[1::2], strict=True):
            index = max(bisect_right(bases, low - 1) - 1, 0)
            while index < len(outside) and bases[index] < high:
                if _has_removed(outside[index], low, high):
                    kept.extend((low, high))
                    break
                index += 1
    return kept


def _all_tombs(run: Sequence[Block]) -> "array[int]":
    return array("Q", chain.from_iterable(block.tombstones for block in run))


def _has_removed(block: Block, low: int, high: int) -> bool:
    start, end = block.row_from(low), block.row_from(high + 1)
    return 0 in block.lengths[start:end]


class Compaction:
    """One piece of maintenance of a `FileStream`, with the protocol of a commit."""

    little = prompt = False

    def __init__(
        self,
        fs: FileSystem,
        handles: Handles,
        directory: str,
        identity: int,
        run: list[Block],
        outside: list[Block],
        last_seq: int,
        *,
        lossy: bool = False,
    ) -> None:
        self._fs = fs
        self._handles = handles
        self.run_of = run
        self.last_seq = last_seq
        self.cancelled = False
        self.done = False
        self.error: OSError | None = None
        self.damaged = 0  # the sequence of a message found damaged; the stream then reads and reports it
        first, final = run[0].header, run[-1].header
        generation = first.generation + 1
        seed = make_seed(directory, identity, first.number, generation, first.last_seq, first.last_time)
        header = first._replace(identity=identity, until=final.until, generation=generation, seed=seed)
        self._block = Block(block_path(directory, first.number, generation), header)
        self._outside = outside
        self._tombstones = array("Q")
        self._lossy = lossy
        self._state = (final.floor, run[-1].state_last, run[-1].state_time)
        self._taken = [block.lengths[:] for block in run]  # the rows to copy: all that are not removed by now

    def run(self) -> None:
        """Write the new block file. Called once, in any thread.

        Unlike in a commit, a failure here (kept in `error`) loses nothing, because the old files stay.
        """
        try:
            self._run()
        except OSError as error:
            self.error = error

    def _run(self) -> None:
        # A message outside that is removed meanwhile gets a tombstone of its own, in a block outside.
        self._tombstones = (
            _all_tombs(self.run_of) if self._lossy else _needed_tombs(self.run_of, self._outside)
        )
        block = self._block
        parts = [block.header.encode()]
        ids: dict[bytes, int] = {}
        for source, lengths in zip(self.run_of, self._taken, strict=True):
            data = read_file(self._fs, source.path)
            for row in (row for row, length in enumerate(lengths) if length):
                seq, offset, length = source.seq_of(row), source.offsets[row], lengths[row] & LENGTH
                one = data[offset : offset + length]
                if not record.is_valid(one, source.seed) or record.unpack_all(one)[6] != seq:
                    self.cancelled = source.damaged = True
                    self.damaged = seq
                    return
                subject = source.subjects[row]
                ids.setdefault(one[record.FIXED : record.FIXED + record.unpack_all(one)[3]], subject)
                parts.append(record.reseal(one, block.seed))
                block.add_row(seq, block.end, lengths[row], source.times[row], subject)
                block.end += length
        floor, last_seq, time = self._state
        block.state_floor, block.state_last, block.state_time = floor, last_seq, time
        state = record.encode(record.STATE, floor, block.seed, time=time, body=_U64.pack(last_seq))
        parts.append(state)
        block.end += len(state)
        if self._tombstones:
            body = record.pairs_to_bytes(self._tombstones)
            parts.append(record.encode(record.DELETE, last_seq, block.seed, body=body))
            block.end += len(parts[-1])
            block.tombstones = self._tombstones
        # The COMMIT record marks the file as complete.
        parts.append(record.encode(record.COMMIT, last_seq, block.seed, time=time))
        block.end += len(parts[-1])
        self._write(b"".join(parts), ids)
        self.done = True

    def _write(self, data: bytes, ids: dict[bytes, int]) -> None:
        fs, path = self._fs, self._block.path
        temporary = path + ".tmp"
        write_new(fs, temporary, data)
        self._block.created = True
        names = {number: key.decode("utf-8", "surrogateescape") for key, number in ids.items()}
        table = [names.get(number, "") for number in range(max(names, default=-1) + 1)]
        fs.rename(temporary, path)
        fs.sync_directory(path.rpartition("/")[0])
        leave_sidecar(fs, self._block, self._block.lengths, table)

    def replacement(self) -> Block:
        """Return the new block.

        Messages that were removed since the rows were taken are marked as removed.
        """
        block = self._block
        block.taken = block.synced = block.end
        block.tail_row = len(block)
        block.live = len(block)
        first = 0
        for source, taken in zip(self.run_of, self._taken, strict=True):
            block.live_bytes += source.live_bytes
            if source.lengths != taken:
                now = array("I", compress(source.lengths, taken))
                for row in (row for row, length in enumerate(now, first) if not length):
                    block.dead_size += block.lengths[row] & LENGTH
                    block.lengths[row] = 0
                    block.live -= 1
            first += len(taken) - taken.count(0)
        return block

    def remove_old(self) -> None:
        """Remove the files that the new one replaces."""
        for block in self.run_of:
            remove_block(self._fs, self._handles, block.path)

    def discard(self) -> None:
        """Remove the new file, which is not needed or must not be used."""
        remove_block(self._fs, self._handles, self._block.path)
