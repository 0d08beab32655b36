"""Opening a stream's folder: from block files and sidecars to blocks and an index.

Nothing damaged is removed or served: it is named in `lost` and `faults`. Only these are removed: files that
a crash left incomplete (temporary files), blocks that a later generation replaces, and an unfinished write at
the end, or, with `cut_to_last_commit`, everything after the last whole commit. (Blocks of which all messages
were removed go with the next commit.) Files that are not the stream's own are set aside (`ownership`). Where
a block is gone or damaged, the manifest and the sidecars still record which sequences were used and which
messages were removed (`Witness`). So no sequence is used twice, and deleted messages stay deleted.
"""

from array import array
from bisect import bisect_right
from dataclasses import field
from itertools import compress

from ...protocol.lazy_dataclass import dataclass
from .. import record
from ..fs import FileSystem, read_file, set_aside, write_file
from ..identity import ANYBODY, Identity
from ..indexed import MOST_NAMED
from ..subjects import SubjectIndex
from . import sidecar
from .block import LENGTH, Block, accounted
from .header import HEADER_SIZE, BlockHeader
from .manifest import NAME as MANIFEST
from .manifest import Witness
from .ownership import OwnFiles, block_path, own_files, parse_block_name, set_foreign_aside, sidecar_path
from .scan import BlockScan, last_commit, scan
from .sidecar import BlockIndex


@dataclass(slots=True)
class RecoveredStream:
    """A stream as it was found.

    faults: what is damaged, in words.
    repaired: what was damaged and can be restored from the rest.
    missing: second files that do not exist, as after a kill. They are written again.
    cut: whether the last block has lost its end, or is gone, so that nothing may be written behind it.
    tombstones: ranges that were removed according to witnesses alone.
    lost: the sequences that are lost, with the place of the damage.
    damage: (block, place of the damage, sequences that were there).
    """

    blocks: list[Block] = field(default_factory=list)
    index: SubjectIndex = field(default_factory=SubjectIndex)
    note: bytes = b""
    bytes: int = 0
    floor: int = 1
    last_seq: int = 0
    last_time: int = 0
    next_number: int = 1
    lost: dict[int, str] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    repaired: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    cut: bool = False
    tombstones: "array[int]" = field(default_factory=lambda: array("Q"))
    damage: list[tuple[Block, str, list[int]]] = field(default_factory=list)

    def reach(self, last_seq: int, last_time: int) -> None:
        """Raise the last sequence to that of one source.

        Its time counts even if it is earlier than others'.
        """
        if last_seq > self.last_seq:
            self.last_seq, self.last_time = last_seq, last_time
        elif last_seq == self.last_seq:
            self.last_time = max(self.last_time, last_time)


@dataclass(slots=True)
class _File:
    path: str
    header: BlockHeader
    size: int


def recover(
    fs: FileSystem, directory: str, *, cut_to_last_commit: bool = False, identity: Identity = ANYBODY
) -> RecoveredStream:
    """Read a stream's folder; see `FileStream` for the arguments. Raises OSError and ForeignFilesError."""
    found = RecoveredStream()
    own = own_files(fs, directory, identity, cut_to_last_commit=cut_to_last_commit)
    found.faults, found.repaired = set_foreign_aside(fs, own)
    files = _files(fs, directory, found, own)
    if own.damage and (files or own.manifest is not None):
        where = found.repaired if fs.exists(f"{directory}/{MANIFEST}") else found.missing
        where.append(f"{own.damage}, and is rewritten with the next commit")
    witnesses = _witnesses(fs, directory, files, found, own)
    if cut_to_last_commit and not found.cut:
        _cut_back(fs, files, found, witnesses)
    indexes = [
        _open_block(fs, file, files[position + 1] if position + 1 < len(files) else None, found, witnesses)
        for position, file in enumerate(files)
    ]
    _read_witnesses(witnesses, [index.block for index in indexes], found)
    for index in indexes:
        block = index.block
        found.floor = max(found.floor, block.state_floor)
        found.reach(max(block.state_last, block.last_row_seq), block.state_time)
        found.blocks.append(block)
    for position in range(len(files)):
        _note_missing(position, files[position], indexes, found)
    end = max(found.blocks[-1].last_row_seq, found.blocks[-1].state_last) if found.blocks else 0
    if found.last_seq > end:
        # The last block or its end is gone. What it held is lost, and its sequences are not used again.
        _lose(found, max(end + 1, found.floor), found.last_seq, directory)
    _apply_tombstones(found)
    loader = _Loader(found)
    for index in indexes:
        loader.load(index)
    loader.finish()
    _note_losses(found)
    return found


def _note_losses(found: RecoveredStream) -> None:
    """Find out what is lost. Messages that were removed anyway are not, as where a crash tore an erasure."""
    if not (found.damage or found.lost):
        return
    lows: list[int] = []
    highs: list[int] = []
    for low, high in sorted(_ranges(found)):
        if highs and low <= highs[-1] + 1:
            highs[-1] = max(highs[-1], high)
        else:
            lows.append(low)
            highs.append(high)

    def needed(seq: int) -> bool:
        index = bisect_right(lows, seq) - 1
        removed = index >= 0 and seq <= highs[index]
        return seq >= found.floor and not removed and seq not in found.index.live

    for block, where, were_there in found.damage:
        lost = [seq for seq in were_there if needed(seq)]
        found.lost.update(dict.fromkeys(lost, block.path))
        if lost or not were_there:
            found.faults.append(f"{where}, {len(lost)} messages lost")
            block.damaged = True
    found.lost = {seq: where for seq, where in found.lost.items() if needed(seq)}


def _files(fs: FileSystem, directory: str, found: RecoveredStream, own: OwnFiles) -> list[_File]:
    """Return the block files that count, in order."""
    newest: dict[int, int] = {}
    for block in own.blocks:
        newest[block.number] = max(newest.get(block.number, 0), block.generation)
    files: list[_File] = []
    for block in sorted(own.blocks, key=lambda block: block.number):
        path, header = block.path, block.header
        if block.generation < newest[block.number]:
            continue
        if header is None:
            found.faults.append(f"{path}: the header is damaged, the block cannot be read")
            found.last_seq = max(found.last_seq, _claimed_last(fs, path))
        elif files and block.number <= files[-1].header.until:
            _remove(fs, path)  # it was merged into the block before
        else:
            if not block.both_copies_intact:
                found.repaired.append(f"{path}: one of the two headers is damaged, the other counts")
            files.append(_File(path, header, block.size))
    found.next_number = max([*newest, *(file.header.until for file in files)], default=0) + 1
    for name in fs.names(directory):
        parsed = parse_block_name(name)
        if name.endswith(".tmp") or (parsed is not None and parsed[1] < newest.get(parsed[0], 0)):
            fs.remove(f"{directory}/{name}")
    return files


def _witnesses(
    fs: FileSystem, directory: str, files: list[_File], found: RecoveredStream, own: OwnFiles
) -> list[Witness]:
    """Return the witnesses: the manifest, and the sidecars of blocks that are gone.

    Notes a missing last block.
    """
    witnesses = own.witnesses if own.manifest is None else [own.manifest, *own.witnesses]
    until = files[-1].header.until if files else 0
    newest = max((witness.number for witness in witnesses), default=0)
    if newest > until:
        path = block_path(directory, newest, 0)
        if not fs.exists(path):
            found.faults.append(f"{path} is missing")
        found.cut = True
        found.next_number = max(found.next_number, newest + 1)
    return witnesses


def _read_witnesses(witnesses: list[Witness], blocks: list[Block], found: RecoveredStream) -> None:
    """Take over what witnesses know of the stream, and the removed ranges that the blocks do not have."""
    known: set[tuple[int, int]] = set()
    same = {(block.header.number, block.header.generation): block.tombstones for block in blocks}
    for witness in witnesses:
        found.floor = max(found.floor, witness.floor)
        found.reach(witness.last_seq, witness.last_time)
        if witness.tombstones == same.get((witness.number, witness.generation)):
            continue  # the usual case, where nothing is damaged
        known = known or {
            pair
            for block in blocks
            for pair in zip(block.tombstones[::2], block.tombstones[1::2], strict=True)
        }
        for pair in zip(witness.tombstones[::2], witness.tombstones[1::2], strict=True):
            if pair not in known:
                known.add(pair)
                found.tombstones.extend(pair)


def _cut_back(fs: FileSystem, files: list[_File], found: RecoveredStream, witnesses: list[Witness]) -> None:
    """Drop what was written after the last whole commit: blocks that only it began, and the end of a block.

    Bytes that are known to have been on the disk are never dropped: without them the block is damaged.
    """
    while files:
        file = files[-1]
        end, found.note = last_commit(file.path, file.header, read_file(fs, file.path))
        if end < _synced(file, witnesses)[0]:
            return
        if end > HEADER_SIZE or len(files) == 1:
            break
        _remove(fs, file.path)
        found.next_number = file.header.number
        files.pop()
    if files and files[-1].size > end:
        fs.remove(sidecar_path(file.path))
        _cut_end(fs, file, end)
        file.size = end


def _claimed_last(fs: FileSystem, path: str) -> int:
    """Guess the last sequence in a block without a header, since no sequence must be used twice."""
    data = read_file(fs, path)
    offset, last = HEADER_SIZE, 0
    while offset + record.FIXED <= len(data):
        _, magic, kind, _, length, _, seq, _ = record.unpack_all(data, offset)
        if magic != record.MAGIC or length < record.FIXED:
            break
        if kind == record.MESSAGE:
            last = max(last, seq)
        offset += length
    return last


def _remove(fs: FileSystem, path: str) -> None:
    fs.remove(path)
    fs.remove(sidecar_path(path))


def _synced(file: _File, witnesses: list[Witness]) -> tuple[int, int]:
    """Return how many bytes of a block are known to have been on the disk, and the last sequence then.

    The result is (0, 0) if nothing is known.
    """
    header, known = file.header, (0, 0)
    for one in witnesses:
        if one.names(header) and one.seed == header.seed:
            known = max(known, (one.end, one.last_seq))
    return known


def _open_block(
    fs: FileSystem, file: _File, following: _File | None, found: RecoveredStream, witnesses: list[Witness]
) -> BlockIndex:
    """Read one block, from its sidecar if there is a good one."""
    side = sidecar_path(file.path)
    damage, where = "", found.repaired
    if fs.exists(side):
        data = _read_sidecar(fs, side)
        index = sidecar.decode(data, file.path, file.header, file.size)
        if index is not None:
            return index
        known = sidecar.witness(data)
        if known is None:
            damage = f"{side} cannot be read"
        elif known.names(file.header) and _of(known) == _of(file.header):
            witnesses.append(known)
        else:
            damage = f"{side} belongs to another block, is set aside ({set_aside(fs, side)})"
    elif following is not None or any(one.sidecar for one in witnesses):
        damage, where = f"{side} is missing", found.missing
    result = _scan_block(fs, file, following, found, witnesses)
    if damage and not result.damage:
        where.append(f"{damage}, and is rewritten")
    if following is None:
        found.cut = found.cut or result.cut
        _cut_end(fs, file, result.end)
    elif not result.damage:
        _write_sidecar(fs, side, result.index)
    return result.index


def _of(one: Witness | BlockHeader) -> tuple[int, int]:
    """Return what identifies a block besides its number: the stream's identity, and the seed."""
    return one.identity, one.seed


def _read_sidecar(fs: FileSystem, path: str) -> bytes:
    try:
        return read_file(fs, path)
    except OSError:
        return b""  # the block is scanned instead


def _scan_block(
    fs: FileSystem, file: _File, following: _File | None, found: RecoveredStream, witnesses: list[Witness]
) -> BlockScan:
    next_last = None if following is None else following.header.last_seq
    data = read_file(fs, file.path)
    synced, last_seq = _synced(file, witnesses)
    expected = following.header.previous_size if following and not file.header.generation else 0
    if 0 < expected < len(data) and not any(data[expected:]):  # zeros written ahead that were not cut off
        data = data[:expected]
        _resize(fs, file.path, expected)
    lacking = max(expected, synced) - len(data)
    # Zeros are not a record, so bytes that were cut off are reported as a hole, unless they were zeros.
    data += bytes(max(lacking, 0))
    result = scan(file.path, file.header, data, next_last=next_last, synced=synced, last_seq=last_seq)
    found.damage.extend((result.index.block, where, lost) for where, lost in result.damage)
    if lacking > 0 and not result.damage:
        found.repaired.append(f"{file.path}: the zeros at its end were cut off, and are rewritten")
        _resize(fs, file.path, len(data))
    return result


def _cut_end(fs: FileSystem, file: _File, end: int) -> None:
    """Cut an unfinished write off the last block, and sync the block: what is served must be durable."""
    _resize(fs, file.path, min(end, file.size))


def _resize(fs: FileSystem, path: str, size: int) -> None:
    handle = fs.open(path)
    try:
        if fs.size(handle) != size:
            fs.truncate(handle, size)
        fs.sync(handle)
    finally:
        fs.close(handle)


def _write_sidecar(fs: FileSystem, path: str, index: BlockIndex) -> None:
    try:
        write_file(fs, path, sidecar.encode(index.block, index.block.lengths, index.names))
    except OSError:
        return  # the block can be scanned again


def _note_missing(position: int, file: _File, indexes: list[BlockIndex], found: RecoveredStream) -> None:
    """Report the sequences of a block before this one that is gone or cannot be read."""
    previous = indexes[position - 1].block if position else None
    header = file.header
    if previous is not None and header.number == previous.header.until + 1:
        return
    after = max(previous.last_row_seq, previous.state_last) if previous is not None else 0
    start = max(after + 1, header.floor, found.floor)
    if start > header.last_seq:
        return
    found.faults.append(f"{file.path}: the block before is missing, sequences {start} to {header.last_seq}")
    _lose(found, start, header.last_seq, f"before {file.path}")


def _lose(found: RecoveredStream, first: int, last: int, where: str) -> None:
    """Report the sequences from `first` to `last` as lost, but at most the newest `MOST_NAMED`."""
    found.lost.update(dict.fromkeys(range(max(first, last + 1 - MOST_NAMED), last + 1), where))


def _ranges(found: RecoveredStream) -> list[tuple[int, int]]:
    pairs = list(zip(found.tombstones[::2], found.tombstones[1::2], strict=True))
    for block in found.blocks:
        pairs.extend(zip(block.tombstones[::2], block.tombstones[1::2], strict=True))
    return pairs


def _clear(block: Block, start: int, end: int) -> None:
    block.lengths[start:end] = array("I", bytes(4 * (end - start)))


def _apply_tombstones(found: RecoveredStream) -> None:
    """Mark the messages as removed that the DELETE records and the floor name."""
    blocks = found.blocks
    for block in blocks:
        if block.header.last_seq + 1 < found.floor:
            _clear(block, 0, block.row_from(found.floor))
    index = 0
    for low, high in sorted(_ranges(found)):
        while index + 1 < len(blocks) and blocks[index + 1].header.last_seq < low:
            index += 1
        at = index
        while at < len(blocks) and blocks[at].header.last_seq < high:
            block = blocks[at]
            _clear(block, block.row_from(low), block.row_from(high + 1))
            at += 1


class _Loader:
    """Enters blocks, in order, into a stream's index, and collects the sequences of each subject."""

    def __init__(self, found: RecoveredStream) -> None:
        self._found = found
        self._numbers: dict[str, int] = {}
        # By subject id: 0 for no message, the sequence of a single one (as in key-value buckets), or an array
        # of sequences.
        self._by_number: list[int | array[int]] = []

    def load(self, index: BlockIndex) -> None:
        """Enter a block's live messages, and give its rows the stream's subject ids."""
        block, lengths = index.block, index.block.lengths
        known, by_number = self._numbers, self._by_number
        numbers = [known.setdefault(name, len(known)) for name in index.names]
        new = len(known) - len(by_number)
        if numbers != list(range(len(numbers))):
            block.subjects = array("I", map(numbers.__getitem__, block.subjects))
        block.live = len(lengths) - lengths.count(0)
        seqs, subjects = block.seqs(), block.subjects
        if block.live < len(lengths):
            seqs, subjects = array("Q", compress(seqs, lengths)), array("I", compress(subjects, lengths))
        self._found.index.live.extend(seqs)
        if new == len(seqs) and subjects == array("I", range(len(by_number), len(known))):
            by_number.extend(seqs)  # each message has a new subject of its own
        else:
            by_number.extend([0] * new)
            self._enter(subjects, seqs)
        # The flag bits add up above the lengths, as no block comes near 2 GiB.
        total = sum(lengths)
        with_header, in_file = total >> 31, total & LENGTH
        block.live_bytes = in_file + accounted(0) * block.live + 4 * with_header
        block.dead_size = max(block.end - HEADER_SIZE - in_file, 0)
        self._found.bytes += block.live_bytes

    def _enter(self, subjects: "array[int]", seqs: "array[int]") -> None:
        """Enter messages whose subjects may already have some."""
        by_number = self._by_number
        for number, seq in zip(subjects, seqs, strict=True):
            one = by_number[number]
            if not one:
                by_number[number] = seq
            elif isinstance(one, int):
                by_number[number] = array("Q", (one, seq))
            else:
                one.append(seq)

    def finish(self) -> None:
        """Pass the subjects to the index."""
        self._found.index.adopt(self._numbers, self._by_number)
