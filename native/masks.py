"""Frames of a WebSocket (RFC 6455, 5.2): what the usual ones carry, and masks."""

from __future__ import annotations

_FINAL, _BINARY_OR_TEXT = 0x80, (0x1, 0x2)
_MASKED = 0x80


def mask_bytes(data: bytes, key: bytes) -> bytes:
    """Return the data with a mask of 4 bytes over it, which put on twice changes nothing.

    Raises ValueError if the key has another size.
    """
    if len(key) != 4:
        raise ValueError(f"a mask has 4 bytes, not {len(key)}")
    size = len(data)
    keys = (key * (size + 3 >> 2))[:size]
    return (int.from_bytes(data, "little") ^ int.from_bytes(keys, "little")).to_bytes(size, "little")


def take_frames(data: bytearray, most: int, masked: bool) -> tuple[int, bytes]:
    """Return what the frames carry that `data` begins with, without masks, and where they end.

    These are whole messages of one frame, binary or text, without extensions. The first frame that is
    anything else, malformed or not complete ends them, and so does one that begins at `most` or later.

    masked: whether the frames must have masks, or else must not.
    """
    pieces = []
    pos = 0
    while pos < most and len(data) - pos >= 2:
        first, second = data[pos], data[pos + 1]
        start, size = pos + 2, second & ~_MASKED
        if first & ~0xF != _FINAL or first & 0xF not in _BINARY_OR_TEXT or bool(second & _MASKED) != masked:
            break
        if size >= 126:
            shorter = 126 if size == 126 else 1 << 16
            start += 2 if size == 126 else 8
            size = int.from_bytes(data[pos + 2 : start], "big")
            if len(data) < start or size < shorter:
                break
        body = start + 4 * masked
        if body + size > len(data):
            break
        payload = bytes(data[body : body + size])
        pieces.append(mask_bytes(payload, bytes(data[start:body])) if masked else payload)
        pos = body + size
    return pos, b"".join(pieces)
