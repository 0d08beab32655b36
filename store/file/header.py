"""The first bytes of a block file: which block it is, and what held when it was begun.

Written twice, one after the other, and synced before the file gets its name: so a block file without a valid
header is damaged, never just unfinished. Headers of the version before have no identity; they are read, and
not written any more.
"""

from struct import Struct
from typing import NamedTuple
from zlib import crc32

_MAGIC = b"pyjsblk2"
_LAYOUT = Struct("<8sQIIIIQQqQ")  # magic, identity, number, until, generation, …
_OLD_MAGIC = b"pyjsblk1"
_OLD_LAYOUT = Struct("<8sQQIIQQqQ")  # the same without an identity, and longer numbers
_CHECKSUM = Struct("<I")
_COPY = _LAYOUT.size + _CHECKSUM.size

HEADER_SIZE = 2 * _COPY


class BlockHeader(NamedTuple):
    """A block's beginning.

    `identity` is the stream's, 0 if unknown. `number` counts the stream's blocks; after a merge one file
    stands for the blocks from `number` to `until`. `generation` counts the rewritings of a block, `seed`
    begins the checksums of its records. `last_seq`, `floor` and `last_time` are the stream's when the block
    was begun: its last sequence (all in the block are greater), the first sequence not removed, the last
    message's time. `previous_size` is the final size of the block before.
    """

    identity: int
    number: int
    until: int
    generation: int
    seed: int
    last_seq: int
    floor: int
    last_time: int
    previous_size: int

    def encode(self) -> bytes:
        """Give the `HEADER_SIZE` bytes for the file."""
        fields = _LAYOUT.pack(_MAGIC, *self)
        return (fields + _CHECKSUM.pack(crc32(fields))) * 2

    @classmethod
    def decode(cls, data: bytes) -> "BlockHeader | None":
        """Read a header from the beginning of a file; None if both copies are damaged."""
        for start in (0, _COPY):
            fields = data[start : start + _LAYOUT.size]
            checksum = data[start + _LAYOUT.size : start + _COPY]
            if checksum != _CHECKSUM.pack(crc32(fields)):
                continue
            if fields.startswith(_MAGIC):
                return cls(*_LAYOUT.unpack(fields)[1:])
            if fields.startswith(_OLD_MAGIC):
                return cls(0, *_OLD_LAYOUT.unpack(fields)[1:])
        return None

    @staticmethod
    def is_doubled(data: bytes) -> bool:
        """Whether both copies at the beginning of a file are the same."""
        return data[:_COPY] == data[_COPY:HEADER_SIZE]


def make_seed(
    directory: str, identity: int, number: int, generation: int, last_seq: int, last_time: int
) -> int:
    """Choose a seed that other blocks of this and of other streams hardly share."""
    return crc32(f"{directory} {identity} {number} {generation} {last_seq} {last_time}".encode())
