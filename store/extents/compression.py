"""The content of an extent, compressed by Snappy: the block's length (u32), the block, perhaps zeros."""

from __future__ import annotations

_LENGTH = 4


def compress(content: bytes, room: int = 0) -> bytes:
    """Return the content, compressed. If that takes less than `room` bytes, zeros follow."""
    from cramjam import snappy

    block = bytes(snappy.compress_raw(content))
    return (len(block).to_bytes(_LENGTH, "little") + block).ljust(max(room, 0), b"\0")


def expand(stored: bytes, length: int) -> bytes | None:
    """Return what was compressed. None if it is damaged, or does not have that length."""
    from cramjam import DecompressionError, snappy

    size = int.from_bytes(stored[:_LENGTH], "little")
    block = stored[_LENGTH : _LENGTH + size]
    try:
        if len(block) != size or snappy.decompress_raw_len(block) != length:
            return None
        return bytes(snappy.decompress_raw(block))
    except DecompressionError:
        return None
