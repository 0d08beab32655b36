"""The header of a block file: which block it is, and the state of the stream when it was begun.

It is written twice, one copy after the other, and synced before the file gets its name. So a block file
without a valid header is damaged, never just unfinished. Headers of the previous version have no identity.
They are read, but no longer written.
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
    """The beginning of a block.

    identity: the stream's identity, 0 if unknown.
    number, until: the first and last of the blocks that the file stands for; more than one only after a
        merge.
    generation: how often the block was rewritten.
    seed: the start value of the checksums of its records.
    last_seq, floor, last_time: the stream's last sequence when the block was begun (all in the block are
        greater), its first sequence that was not removed, and the time of its last message.
    previous_size: the final size of the block before, in bytes.
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
        """Return the `HEADER_SIZE` bytes for the file."""
        fields = _LAYOUT.pack(_MAGIC, *self)
        return (fields + _CHECKSUM.pack(crc32(fields))) * 2

    @classmethod
    def decode(cls, data: bytes) -> "BlockHeader | None":
        """Read a header from the beginning of a file. Return None if both copies are damaged."""
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
    def has_both_copies(data: bytes) -> bool:
        """Whether both copies at the beginning of a file are the same."""
        return data[:_COPY] == data[_COPY:HEADER_SIZE]


def make_seed(
    directory: str, identity: int, number: int, generation: int, last_seq: int, last_time: int
) -> int:
    """Return a seed that hardly any other block of this or another stream has."""
    return crc32(f"{directory} {identity} {number} {generation} {last_seq} {last_time}".encode())
