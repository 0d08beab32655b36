"""The sidecar: the index of a sealed block in a file of its own, which saves reading all messages on opening.

It holds what a scan of the block would find, and a checksum over it. It is never required: one that is
missing, torn, damaged or of another block file is ignored, and the block is scanned instead. If the block
itself is gone or damaged, its sidecar still records what it was (`witness`). Columns are little-endian.
"""

import sys
from array import array
from collections.abc import Sequence
from itertools import accumulate
from struct import Struct
from typing import NamedTuple
from zlib import crc32

from ...protocol.lazy_dataclass import dataclass
from ..record import pairs_from_bytes
from .block import Block
from .header import BlockHeader
from .manifest import Witness

_MAGIC = b"pyjsidx2"
_OLD_MAGIC = b"pyjsidx1"  # of the previous version: the same without the identity, which is the last field
_LAYOUT = Struct("<8sQIIQQIIIIqQQqQ")
_OLD_LAYOUT = Struct("<8sQIIQQIIIIqQQq")
_CHECKSUM = Struct("<I")
_ROW_COLUMNS = ("I", "I", "q", "I")  # offsets, lengths, times, subjects: each has a value for each row


@dataclass(slots=True)
class BlockIndex:
    """The rows of a block, from a scan or a sidecar.

    names: the subjects of its messages. `block.subjects` has a position in them for each row.
    """

    block: Block
    names: list[str]


class _Head(NamedTuple):
    """The fields of a sidecar after its magic, in their order in the file.

    number, generation, seed, identity: those of the block.
    end: the size of the block file.
    first: the first sequence of the block.
    rows, sparse, tombstones, names: the lengths of the columns.
    max_time, state_floor, state_last, state_time: as in `Block`.
    """

    number: int
    generation: int
    seed: int
    end: int
    first: int
    rows: int
    sparse: int
    tombstones: int
    names: int
    max_time: int
    state_floor: int
    state_last: int
    state_time: int
    identity: int = 0


def _bytes(column: "array[int]") -> bytes:
    if sys.byteorder == "big":
        column = column[:]
        column.byteswap()
    return column.tobytes()


def encode(block: Block, lengths: "array[int]", names: Sequence[str]) -> bytes:
    """Return the sidecar of a block to which nothing more is appended.

    lengths: the lengths column of the block, or a copy (it changes while messages are removed).
    names: the stream's subjects. The subject ids of the block are positions in it; those of removed rows mean
        nothing.
    """
    used: dict[int, int] = {}
    local = array("I", [used.setdefault(number, len(used)) for number in block.subjects])
    encoded = [
        names[number].encode("utf-8", "surrogateescape") if number < len(names) else b"" for number in used
    ]
    sparse = block.sparse if block.sparse is not None else array("Q")
    head = _Head(
        number=block.header.number,
        generation=block.header.generation,
        seed=block.seed,
        end=block.end,
        first=block.first,
        rows=len(block.offsets),
        sparse=len(sparse),
        tombstones=len(block.tombstones),
        names=len(encoded),
        max_time=block.max_time,
        state_floor=block.state_floor,
        state_last=block.state_last,
        state_time=block.state_time,
        identity=block.header.identity,
    )
    columns = (sparse, block.offsets, lengths, block.times, local, block.tombstones)
    sizes = array("H", [len(name) for name in encoded])
    data = b"".join([_LAYOUT.pack(_MAGIC, *head), *map(_bytes, columns), _bytes(sizes), *encoded])
    return data + _CHECKSUM.pack(crc32(data))


def _head(data: bytes) -> tuple[_Head, int] | None:
    """Return the head, and where the columns begin.

    None if the file is incomplete, its checksum is wrong, or its magic is unknown.
    """
    if len(data) < _OLD_LAYOUT.size + 4 or data[-4:] != _CHECKSUM.pack(crc32(memoryview(data)[:-4])):
        return None
    if data.startswith(_OLD_MAGIC):
        return _Head(*_OLD_LAYOUT.unpack_from(data)[1:]), _OLD_LAYOUT.size
    if data.startswith(_MAGIC) and len(data) >= _LAYOUT.size + 4:
        return _Head(*_LAYOUT.unpack_from(data)[1:]), _LAYOUT.size
    return None


def witness(data: bytes) -> Witness | None:
    """Return what a sidecar records of its block, whatever became of that. None if it cannot be read."""
    found = _head(data)
    if found is None:
        return None
    head, at = found
    at += 8 * head.sparse + head.rows * sum(array(code).itemsize for code in _ROW_COLUMNS)
    return Witness(
        head.identity,
        head.number,
        head.generation,
        head.seed,
        head.end,
        head.state_last,
        head.state_floor,
        head.state_time,
        tombstones=pairs_from_bytes(data[at : at + 8 * head.tombstones]),
    )


def _names(encoded: bytes, ends: list[int]) -> list[str]:
    """Split the names. Where all are ASCII, a character is a byte, and one call decodes all of them."""
    spans = zip([0, *ends], ends, strict=False)
    if encoded.isascii():
        text = encoded.decode("ascii")
        return [text[start:end] for start, end in spans]
    return [encoded[start:end].decode("utf-8", "surrogateescape") for start, end in spans]


def decode(data: bytes, path: str, header: BlockHeader, size: int) -> BlockIndex | None:
    """Read the sidecar of the block file at `path`, which has this header and size.

    Return None if it is not the sidecar of that file, or cannot be read.
    """
    found = _head(data)
    if found is None:
        return None
    head, at = found
    block_identity = (head.identity, head.number, head.generation, head.seed)
    if block_identity != (header.identity, header.number, header.generation, header.seed) or head.end != size:
        return None
    block = Block(path, header)

    def column(code: str, length: int) -> "array[int]":
        nonlocal at
        values: array[int] = array(code)
        values.frombytes(data[at : at + length * values.itemsize])
        if sys.byteorder == "big":
            values.byteswap()
        at += length * values.itemsize
        return values

    seqs = column("Q", head.sparse)
    block.sparse = seqs if head.sparse else None
    block.offsets, block.lengths, block.times, block.subjects = (
        column(code, head.rows) for code in _ROW_COLUMNS
    )
    block.tombstones = column("Q", head.tombstones)
    ends = list(accumulate(column("H", head.names)))
    names = _names(data[at : at + ends[-1]] if ends else b"", ends)
    block.first = head.first
    block.max_time = head.max_time
    block.state_floor, block.state_last, block.state_time = head.state_floor, head.state_last, head.state_time
    block.created = True
    block.end = block.taken = block.synced = block.indexed = head.end
    block.tail_row = head.rows
    return BlockIndex(block, names)
