"""The index of a sealed block in a file of its own, so that opening a stream need not read all messages.

It holds what a scan of the block would give, and a checksum over it. It is never needed: one that is missing,
torn, damaged or not of this very block file is ignored, and the block is scanned instead. Where the block
itself is gone or damaged, its sidecar still says what it was (`witness`). Columns are little-endian.
"""

import sys
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from struct import Struct
from zlib import crc32

from ..record import pairs_from_bytes
from .block import Block
from .header import Header
from .manifest import Witness

_MAGIC = b"pyjsidx1"
_LAYOUT = Struct("<8sQIIQQIIIIqQQq")
_CHECKSUM = Struct("<I")


@dataclass(slots=True)
class Index:
    """A block's rows as a scan or a sidecar gives them; `block.subjects` holds places in `names`."""

    block: Block
    names: list[bytes]


def _bytes(column: "array[int]") -> bytes:
    if sys.byteorder == "big":
        column = column[:]
        column.byteswap()
    return column.tobytes()


def _key(name: bytes | str) -> bytes:
    return name if isinstance(name, bytes) else name.encode("utf-8", "surrogateescape")


def encode(block: Block, lengths: "array[int]", names: Sequence[bytes | str]) -> bytes:
    """Build the sidecar of a block that is no longer appended to.

    `lengths` are its lengths, or what they were (they change while messages are removed); its subject ids are
    places in `names`, those of removed rows mean nothing.
    """
    used: dict[int, int] = {}
    local = array("I", [used.setdefault(number, len(used)) for number in block.subjects])
    keys = [_key(names[number]) if number < len(names) else b"" for number in used]
    sparse = block.sparse if block.sparse is not None else array("Q")
    head = _LAYOUT.pack(
        _MAGIC,
        block.header.number,
        block.header.generation,
        block.seed,
        block.end,
        block.first,
        len(block.offsets),
        len(sparse),
        len(block.tombs),
        len(keys),
        block.max_time,
        block.state_floor,
        block.state_last,
        block.state_time,
    )
    columns = (sparse, block.offsets, lengths, block.times, local, block.tombs)
    sizes = array("H", [len(key) for key in keys])
    data = b"".join([head, *map(_bytes, columns), _bytes(sizes), *keys])
    return data + _CHECKSUM.pack(crc32(data))


def _is_whole(data: bytes) -> bool:
    if len(data) < _LAYOUT.size + 4 or data[-4:] != _CHECKSUM.pack(crc32(memoryview(data)[:-4])):
        return False
    return data.startswith(_MAGIC)


def witness(data: bytes) -> Witness | None:
    """Read what a sidecar says of its block, whatever has become of that; None if it cannot be read."""
    if not _is_whole(data):
        return None
    (_, number, generation, seed, end, _, rows, sparse, tombs, _, _, floor, last, time) = _LAYOUT.unpack_from(
        data
    )
    at = _LAYOUT.size + 8 * sparse + rows * sum(array(code).itemsize for code in "IIqI")
    removed = pairs_from_bytes(data[at : at + 8 * tombs])
    return Witness(number, generation, seed, end, last, floor, time, tombs=removed)


def decode(data: bytes, path: str, header: Header, size: int) -> Index | None:
    """Read the sidecar of the block file at `path`, which has this header and size.

    None if it is not that.
    """
    if not _is_whole(data):
        return None
    (magic, number, generation, seed, end, first, rows, sparse, tombs, keys, max_time, *state) = (
        _LAYOUT.unpack_from(data)
    )
    if (magic, number, generation, seed, end) != (
        _MAGIC,
        header.number,
        header.generation,
        header.seed,
        size,
    ):
        return None
    block = Block(path, header)
    at = _LAYOUT.size

    def column(code: str, length: int) -> "array[int]":
        nonlocal at
        values: array[int] = array(code)
        values.frombytes(data[at : at + length * values.itemsize])
        if sys.byteorder == "big":
            values.byteswap()
        at += length * values.itemsize
        return values

    seqs = column("Q", sparse)
    block.sparse = seqs if sparse else None
    block.offsets = column("I", rows)
    block.lengths = column("I", rows)
    block.times = column("q", rows)
    block.subjects = column("I", rows)
    block.tombs = column("Q", tombs)
    ends = list(accumulate(column("H", keys)))
    names = [data[at + start : at + end] for start, end in zip([0, *ends], ends, strict=False)]
    block.first = first
    block.max_time = max_time
    block.state_floor, block.state_last, block.state_time = state
    block.created = True
    block.end = block.taken = block.synced = block.indexed = end
    block.tail_row = rows
    return Index(block, names)
