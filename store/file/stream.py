"""A stream kept in block files: the reference's `file` storage.

It promises what `store.stream.StreamStore` promises. Appended messages are buffered and readable at once; a
commit writes and syncs all of them. Removing the first messages only moves the floor, which the next commit
notes in a small record. The end of the stream is read from memory, the rest from the blocks, and every record
from the disk is checked. While the stream is open, only the `run` of a commit or of maintenance writes data.
"""

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from struct import Struct
from zlib import crc32

from ...native import decode_message, encode_messages
from .. import record
from ..errors import Damaged, StoreClosed, StoreError, StoreFailed
from ..fs import Disk, FileSystem
from ..handles import Handles
from ..identity import ANYBODY, Identity
from ..indexed import IndexedStream, check_rising
from ..message import StoredMessage
from ..stream import Commit
from ..subjects import Heap
from .block import HAS_HEADER, LENGTH, Block
from .commit import QUICK_BYTES, StreamCommit, cut_zeros, erasure, leave_sidecar
from .compaction import Compaction
from .header import HEADER_SIZE, BlockHeader, make_seed
from .maintenance import Erased, Maintenance
from .manifest import Manifest, delete_records
from .ownership import block_path, sidecar_path
from .packing import Packing
from .reader import BlockReader
from .recovery import RecoveredStream, recover
from .run import read_run

BLOCK_SIZE = 16 << 20  # bytes; large enough that sealing (three syncs) is rare, small enough to scan in 0.2 s
BLOCK_ROWS = 1 << 17
TAIL_SIZE = 1 << 18  # bytes of synced records kept in memory per stream
MANY_SUBJECTS = 2048  # subjects above which it takes long to forget what is before a sequence
_U64 = Struct("<Q")

# Module constants, because they are looked up once per message.
_pack_fields, _pack_checksum = record.pack_fields, record.pack_checksum
_unpack_all = record.unpack_all
_MAGIC, _MESSAGE, _FIXED = record.MAGIC, record.MESSAGE, record.FIXED


class FileStream(IndexedStream):
    """A `StreamStore` in the folder `directory`, which the first commit creates. Streams may share `handles`.

    faults, repaired: what was found damaged on opening, in words: with a loss, and without any.
    missing: files that a kill leaves out, and that are written again.
    on_damage: called with (sequence, place) when a read finds a damaged message.
    cut_to_last_commit: whether what follows the last whole commit is dropped, so that messages and `note` fit
        together.
    Raises OSError if the folder cannot be read, ForeignFilesError if everything in it is another stream's.
    """

    def __init__(
        self,
        directory: str,
        *,
        fs: FileSystem | None = None,
        handles: Handles | None = None,
        block_size: int = BLOCK_SIZE,
        on_damage: Callable[[int, str], None] | None = None,
        cut_to_last_commit: bool = False,
        identity: Identity = ANYBODY,
    ) -> None:
        super().__init__()
        self.directory = directory
        self._identity = identity.value
        self._fs: FileSystem = Disk() if fs is None else fs
        self._own_handles = handles is None
        self._handles = Handles(self._fs, 8) if handles is None else handles
        self._block_size = block_size
        self._reader = BlockReader(self._handles)
        self._maintenance = Maintenance(self._fs, self._handles, directory, identity.value, self._reader)
        self.on_damage = on_damage
        self._refusal: StoreError | None = None
        self._commit: StreamCommit | None = None
        self._deletes: list[int] = []
        self._erasures: list[Erased] = []
        self._sealed: list[Block] = []  # blocks sealed since the last commit was begun
        self._skipped = False
        self._manifest = Manifest(self._fs, self._handles, directory, identity.value)
        found = recover(self._fs, directory, cut_to_last_commit=cut_to_last_commit, identity=identity)
        self.faults, self.repaired, self.missing = found.faults, found.repaired, found.missing
        self._adopt(found)

    def _adopt(self, found: RecoveredStream) -> None:
        self._index = found.index
        self.bytes = found.bytes
        self.last_seq = max(found.last_seq, found.floor - 1)
        self.last_time = found.last_time
        self._lost = found.lost
        self.note = self._noted = found.note
        self._blocks = found.blocks
        self._next_number = found.next_number
        self._floor = found.floor  # as recorded on the disk
        if not self._blocks or found.cut or self._next_number > self._blocks[-1].header.until + 1:
            self._blocks.append(self._new_block(self._blocks[-1].end if self._blocks else 0))
        self._bases = [block.header.last_seq for block in self._blocks]
        self._active = self._blocks[-1]
        self._add_deletes(found.tombstones)

    # -- appending

    def append(self, subject: str, header: bytes, body: bytes, time: int, seq: int = 0) -> int:
        """Store a message and return its sequence: `seq` (above `last_seq`), or the next one if that is 0."""
        if self._refusal is not None:
            raise self._refusal
        seq = seq or self.last_seq + 1
        block = self._active
        offset = block.end
        offsets = block.offsets
        if offset >= self._block_size or len(offsets) >= BLOCK_ROWS:
            block = self._roll()
            offset = block.end
            offsets = block.offsets
        key = subject.encode("utf-8", "surrogateescape")
        header_size = len(header)
        length = _FIXED + len(key) + header_size + len(body)
        head = _pack_fields(_MAGIC, _MESSAGE, len(key), length, header_size, seq, time) + key + header
        data = _pack_checksum(crc32(body, crc32(head, block.seed))) + head + body  # copies the body once
        if block.sparse is not None or seq != block.first + len(offsets):
            block.make_sparse(seq)
            if block.sparse is not None:
                block.sparse.append(seq)
        block.pending.append(data)
        block.tail.append(data)
        block.end = offset + length
        offsets.append(offset)
        if header_size:
            block.lengths.append(length | HAS_HEADER)
            size = length + 2
        else:
            block.lengths.append(length)
            size = length - 2
        block.times.append(time)
        block.subjects.append(self._index.add(subject, seq))
        block.live += 1
        block.live_bytes += size
        block.max_time = max(block.max_time, time)
        self.bytes += size
        self.last_seq = seq
        self.last_time = time
        return seq

    def append_each(
        self, messages: Sequence[tuple[str, bytes, bytes]], seqs: "array[int]", times: "array[int]"
    ) -> None:
        """Store messages (subject, header, body) under these sequences, with these times."""
        self._check_open()
        check_rising(seqs, self.last_seq)
        block = self._active
        encoded = encode_messages(messages, seqs, times, block.seed, block.end)
        if encoded[1][-1] >= self._block_size or len(block.offsets) + len(seqs) > BLOCK_ROWS:
            for message, seq, time in zip(messages, seqs, times, strict=True):
                self.append(*message, time, seq)
            return
        self.bytes += block.add_records(seqs, *encoded, self._index.add_each(messages, seqs), times)
        self.last_seq, self.last_time = seqs[-1], times[-1]

    def skip_to(self, last_seq: int) -> None:
        """Consume the sequences up to `last_seq` without a message."""
        self._check_open()
        if last_seq > self.last_seq:
            self.last_seq = last_seq
            self._skipped = True

    def mark_used(self, last_seq: int) -> None:
        """Consume sequences that are known to have been used, and report their messages as lost."""
        self._check_open()
        if last_seq > self.last_seq:
            sealed, before = self._active, self._active.state_last
            self._next_number += 1  # the gap makes the next opening report the loss, too
            super().mark_used(last_seq)
            self._roll()
            sealed.state_last = before

    def _new_block(self, previous_size: int) -> Block:
        number = self._next_number
        self._next_number += 1
        seed = make_seed(self.directory, self._identity, number, 0, self.last_seq, self.last_time)
        floor, of = self._first_needed(), (self._identity, number, number, 0)
        header = BlockHeader(*of, seed, self.last_seq, floor, self.last_time, previous_size)
        return Block(block_path(self.directory, number, 0), header)

    def _roll(self) -> Block:
        """Seal the active block, to which nothing more is added, and begin a new one."""
        self._sealed.append(self._active)
        self._active.state_last, self._active.state_time = self.last_seq, self.last_time
        block = self._active = self._new_block(self._active.end)
        self._blocks.append(block)
        self._bases.append(block.header.last_seq)
        return block

    def _first_needed(self) -> int:
        """Return the floor, below which all is removed. Lost messages stay above it, to be reported again."""
        first = self._index.live.first or self.last_seq + 1
        return min(first, *self._lost) if self._lost else first

    # -- reading

    def _find(self, seq: int) -> tuple[Block, int]:
        """Find the block and row of a live message."""
        block = self._active
        if seq <= block.header.last_seq:
            block = self._blocks[bisect_right(self._bases, seq - 1) - 1]
        return block, seq - block.first if block.sparse is None else block.row_of(seq)

    def _load(self, seq: int) -> StoredMessage:
        block, row = self._find(seq)
        name = self._index.names[block.subjects[row]]
        if row >= block.tail_row:
            data = block.tail[row - block.tail_row]
            _, _, _, subject, _, header, _, time = _unpack_all(data)
            body = _FIXED + subject + header
            return StoredMessage(seq, name, data[_FIXED + subject : body], data[body:], time)
        data = self._reader.read(block, block.offsets[row], block.lengths[row] & LENGTH)
        message = decode_message(StoredMessage, data, block.seed, seq, name)
        if message is None:
            raise self._found_damaged(seq, block, row)
        return message

    def _load_run(self, seqs: Sequence[int], size: int, found: list[StoredMessage]) -> None:
        while len(found) < len(seqs) and size > 0:
            seq = seqs[len(found)]
            block, row = self._find(seq)
            rest, in_file = seqs[len(found) :], row < block.tail_row
            read = read_run(self._reader, block, rest, self._index.names, size) if in_file else []
            read = read or [self._load(seq)]
            found += read
            size -= sum([len(message.body) for message in read])

    def _found_damaged(self, seq: int, block: Block, row: int) -> Damaged:
        """Remove an unreadable message from the index, and report it from now on."""
        where = f"{block.path} at {block.offsets[row]}"
        self.bytes -= block.mark_removed(row)
        self._index.discard(block.subjects[row], seq)
        if not block.damaged and block.tombstones:  # what it says of removed messages may be damaged, too
            self._add_deletes(block.tombstones[:])
        block.damaged = True
        self._lost[seq] = where
        with suppress(OSError):  # without it, the next opening scans the block
            self._fs.remove(sidecar_path(block.path))
        if self.on_damage is not None:
            self.on_damage(seq, where)
        return Damaged(seq, where)

    def _time_of(self, seq: int) -> int:
        block, row = self._find(seq)
        return block.times[row]

    def seq_at(self, time: int) -> int:
        """Return the first sequence whose message has this time or a later one."""
        for block in self._blocks:
            if block.live and block.max_time >= time and (row := block.row_at(time)) >= 0:
                return block.seq_of(row)
        return self.last_seq + 1

    def headed(self, from_seq: int) -> Iterator[int]:
        """Iterate over the sequences, from `from_seq` on, of messages that have a header."""
        for block in self._blocks:
            if block.last_row_seq >= from_seq:
                yield from block.headed(from_seq)

    def size_of(self, subject: str, header_len: int, body_len: int) -> int:
        """Return what a message counts in `bytes`: the size of the reference's record for it."""
        size = 30 + len(subject.encode("utf-8", "surrogateescape")) + body_len
        return size + 4 + header_len if header_len else size

    # -- removing

    def _forget(self, seq: int, *, erase: bool) -> tuple[str, int]:
        block, row = self._find(seq)
        number = block.subjects[row]
        subject = self._index.names[number]
        if erase:
            length = block.lengths[row] & LENGTH
            erased = (block, block.offsets[row], length, seq, block.times[row])
            self._erasures.append(erased)
            self._maintenance.erasing(erased)
            self._reader.forget(block)
            if row >= block.tail_row:
                block.tail[row - block.tail_row] = b""
        size = block.mark_removed(row)
        self._index.discard(number, seq)
        self.bytes -= size
        self._deletes.append(seq)
        return subject, size

    def _forget_lost(self, seq: int) -> int | None:
        if (freed := super()._forget_lost(seq)) is not None:
            self._deletes.append(seq)
        return freed

    def _forget_before(self, seq: int) -> None:
        for block in self._blocks:
            if block.header.last_seq + 1 >= seq:
                break
            self.bytes -= block.mark_removed_before(seq)
        self._index.drop_before(seq)

    def _forget_all_but(self, kept: list[int]) -> list[Heap]:
        rows = [(seq, self._subject_of(seq)) for seq in kept]
        for block in self._blocks:
            self.bytes -= block.mark_removed_before(kept[0] if kept else self.last_seq + 1)
        remains = self._index.clear()
        for seq, subject in rows:
            block, row = self._find(seq)
            block.subjects[row] = self._index.add(subject, seq)
        return remains

    def _is_cheap(self, seq: int) -> bool:
        return len(self._index.ids) <= MANY_SUBJECTS

    def _subject_of(self, seq: int) -> str:
        block, row = self._find(seq)
        return self._index.names[block.subjects[row]]

    # -- committing

    def begin_commit(self) -> Commit | None:
        """Take what is buffered; see `store.stream.StreamStore`."""
        if self._commit is not None:
            raise RuntimeError("the last commit is not finished")
        if self._refusal is not None:
            raise self._refusal
        noted, self._noted = self._noted != self.note, self.note
        if noted and self._active.end >= self._block_size:
            self._roll()
        floor = self._first_needed()
        removals = self._retire(floor) if len(self._blocks) > 1 or floor > self.last_seq else []
        active = self._active
        gone, self._deletes = self._deletes, []
        deletes = (
            self._add_deletes(record.ranges(sorted(s for s in gone if s >= floor))) if gone else array("Q")
        )
        if floor != self._floor or self._skipped:
            body = _U64.pack(self.last_seq)
            state = record.encode(record.STATE, floor, active.seed, time=self.last_time, body=body)
            active.add_pending(state)
            active.state_floor = self._floor = floor
            self._skipped = False
        if not (active.pending or noted or self._sealed or self._erasures or removals):
            return None
        commit = StreamCommit(self._fs, self._handles, self.directory, self.last_seq)
        if active.pending or noted:
            seq, time, note = self.last_seq, self.last_time, self.note
            end = record.encode(record.COMMIT, seq, active.seed, time=time, body=note)
            active.pending.append(end)
            active.end += len(end)
            active.dead_size += len(end) if note else 0
            active.state_last, active.state_time = self.last_seq, self.last_time
        for block in self._sealed:
            commit.writes.append(block.take_last())
            if not block.damaged:  # with a sidecar, its damage would be forgotten
                commit.sidecars.append((block, block.lengths[:], self._index.names[:]))
        self._sealed = []
        commit.little = not (commit.writes or self._erasures or removals)
        if active.pending or not active.created:
            commit.writes.append(write := active.take(ahead=not self._fs.delays_sync))
            commit.little = commit.little and not write.header and write.size <= QUICK_BYTES
        commit.note = self._manifest.note(active, deletes, self.last_seq, self.last_time)
        if self._erasures:
            commit.erasures, self._erasures = [erasure(*one) for one in self._erasures], []
        commit.removals = removals
        commit.prompt = commit.little and self._fs.delays_sync
        self._commit = commit
        return commit

    def _add_deletes(self, pairs: "array[int]") -> "array[int]":
        """Record removed ranges."""
        for data in delete_records(pairs, self.last_seq, self._active.seed):
            self._active.add_pending(data)
        self._active.tombstones.extend(pairs)
        return pairs

    def _retire(self, floor: int) -> list[str]:
        """Drop the blocks that are completely below the floor, and return their files, for removal."""
        size = self._active.end - HEADER_SIZE
        if floor > self.last_seq and size > self._block_size // 4:
            self._roll()  # an emptied stream frees its space
        retired = 0
        while retired + 1 < len(self._blocks) and self._bases[retired + 1] < floor:
            retired += 1
        paths = [block.path for block in self._blocks[:retired]]
        for block in self._blocks[:retired]:
            self._reader.forget(block)
        del self._blocks[:retired], self._bases[:retired]
        return paths

    def finish(self, commit: Commit) -> None:
        """Take note that `commit.run()` has returned or raised."""
        running = self._commit
        if running is None or commit is not running:
            self._finish_maintenance(commit)
            return
        self._commit = None
        if not running.done:
            self._refusal = StoreFailed(f"{self.directory}: {running.error}")
            return
        for write in running.writes:
            block = write.block
            block.synced = write.end
            # A block that was sealed while the commit ran may hold what only the next commit writes.
            if block is self._active or block.synced < block.end:
                block.trim_tail(TAIL_SIZE)
            else:
                block.drop_tail()

    def _finish_maintenance(self, work: Commit) -> None:
        if isinstance(work, Compaction | Packing):
            self._erasures += self._maintenance.finish(work, self._blocks, self._bases)
            if isinstance(work, Compaction) and work.damaged in self._index.live:
                self.next((), work.damaged)
            return
        raise ValueError("not this stream's commit")

    def commit_sync(self) -> None:
        """Commit at once, in this thread. Raises OSError."""
        if (commit := self.begin_commit()) is not None:
            try:
                commit.run()
            finally:
                self.finish(commit)

    # -- freeing space

    def begin_maintenance(self) -> Commit | None:
        """Take blocks that are mostly removed messages, to rewrite them without those, or to compress."""
        erases = self._erasures or (self._commit is not None and self._commit.erasures)
        if self._maintenance.work is not None or self._refusal is not None or erases:
            return None
        blocks, size = self._blocks, self._block_size
        return self._maintenance.begin(blocks, self._sealed, size, self.last_seq, lossy=bool(self._lost))

    def compress(self, compress: bool) -> None:
        """Compress blocks from now on, once nothing more is added to them, or compress no more of them."""
        self._maintenance.compress = compress

    # -- closing

    def _check_open(self) -> None:
        if self._refusal is not None:
            raise self._refusal

    def close(self) -> None:
        """Commit what is buffered, write a sidecar for the next opening, and close all files."""
        if isinstance(self._refusal, StoreClosed):
            return
        if self._commit is not None or self._maintenance.work is not None:
            raise RuntimeError("a commit or maintenance is not finished")
        try:
            if self._refusal is None:
                self.commit_sync()
                active = self._active
                cut_zeros(self._fs, self._handles, active)
                if active.created and not (active.damaged or self.note or active.indexed == active.end):
                    leave_sidecar(self._fs, active, active.lengths, self._index.names)
                    self._manifest.note(active, array("Q"), self.last_seq, self.last_time, sidecar=True)()
        finally:
            self._close_files()

    def _close_files(self) -> None:
        for block in self._blocks:
            self._handles.forget(block.path)
        self._manifest.close()
        if self._own_handles:
            self._handles.close()
        self._refusal = StoreClosed(self.directory)

    def abandon(self) -> None:
        """Close all files without committing. No commit may be under way."""
        self._close_files()

    def delete(self) -> None:
        """Remove everything on the disk. No commit may be under way. Raises OSError."""
        self._close_files()
        self._fs.remove_tree(self.directory)
