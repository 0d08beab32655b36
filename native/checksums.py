"""CRC-32C (Castagnoli), as the framing of Snappy and S2 uses it.

Long data is cut into parts. The checksums of all parts are computed side by side, by operations on long
strings of bytes, and are joined at the end. This makes it fast without a compiled module.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

_POLYNOMIAL = 0x82F63B78  # reflected
_PART = 64  # bytes of data in each part
_SMALLEST = 4096  # bytes from which on it is worth cutting data into parts


def _table() -> list[int]:
    table = list(range(256))
    for _ in range(8):
        table = [(value >> 1) ^ (_POLYNOMIAL if value & 1 else 0) for value in table]
    return table


_TABLE = _table()
# For each k, a table for `bytes.translate` from a byte to byte k of its entry in `_TABLE`.
_PLANES = [bytes(value >> 8 * k & 255 for value in _TABLE) for k in range(4)]


def crc32c(data: bytes) -> int:
    """Return the CRC-32C of `data`."""
    crc, at = 0xFFFFFFFF, 0
    while len(data) - at >= _SMALLEST:
        size = 1 << (len(data) - at).bit_length() - 1
        crc = _parts(data[at : at + size], crc)
        at += size
    for byte in data[at:]:
        crc = _TABLE[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def _parts(data: bytes, crc: int) -> int:
    """Continue `crc` over data whose length is `_PART` times a power of two."""
    count = len(data) // _PART
    read = int.from_bytes
    bits, lowest = 8 * count, (1 << 8 * count) - 1
    first, second, third, fourth = _PLANES
    # Four planes in one number: the lowest bytes of all parts' checksums, then the next ones.
    planes = sum((crc >> 8 * k & 255) << k * bits for k in range(4))
    for step in range(_PART):
        index = (planes & lowest ^ read(data[step::_PART], "little")).to_bytes(count, "little")
        moved = b"".join(
            (index.translate(first), index.translate(second), index.translate(third), index.translate(fourth))
        )
        planes = planes >> bits ^ read(moved, "little")
    length = _PART
    while count > 1:
        whole = planes.to_bytes(4 * count, "little")
        planes = read(b"".join([whole[k * count + 1 : (k + 1) * count : 2] for k in range(4)]), "little")
        for k, row in enumerate(_shift(length)):
            part = whole[k * count : (k + 1) * count : 2]
            planes ^= read(b"".join([part.translate(each) for each in row]), "little")
        count, length = count // 2, 2 * length
    return planes


@functools.cache
def _columns(length: int) -> list[int]:
    """Return what each bit of a checksum becomes when `length` zero bytes follow.

    `length` is a power of two.
    """
    if length == 1:
        return [_TABLE[1 << bit & 255] ^ (1 << bit) >> 8 for bit in range(32)]
    half = _columns(length // 2)
    return [_moved(half, value) for value in half]


def _moved(columns: Sequence[int], value: int) -> int:
    found = 0
    for bit in range(value.bit_length()):
        if value >> bit & 1:
            found ^= columns[bit]
    return found


@functools.cache
def _shift(length: int) -> list[list[bytes]]:
    """Return tables for `bytes.translate`: `[j][k]` maps byte j of a checksum to byte k of the result."""
    columns = _columns(length)
    values = [[_moved(columns, value << 8 * j) for value in range(256)] for j in range(4)]
    return [[bytes(value >> 8 * k & 255 for value in row) for k in range(4)] for row in values]
