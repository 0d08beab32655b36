"""FrameReader and frames to write: between the bytes of a WebSocket and those of NATS. No I/O.

NATS over WebSocket is one stream of bytes: where a message begins and ends has no meaning, and text frames
are taken like binary ones. So a frame is passed on as it arrives, and is never kept whole.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from wsproto.frame_protocol import CloseReason, FrameDecoder, ParseFailed, RsvBits

from ...native import mask_bytes, take_frames
from .deflate import Inflater, deflate
from .errors import INVALID_TEXT, WebSocketError

if TYPE_CHECKING:
    from collections.abc import Callable

CONTINUATION, BINARY, CLOSE, PING, PONG = 0x0, 0x2, 0x8, 0x9, 0xA
_FINAL = 0x80
_COMPRESSED = 0x40
_MASKED = 0x80
_NO_STATUS = 1005
_MOST_TEXT = 123  # bytes of the text of a close frame
_WORTH = 64  # what is not longer is not compressed
_TOGETHER = 1 << 16  # bytes of frames that are taken in one pass
_RESERVED = frozenset({1004, _NO_STATUS, 1006, 1015})


class Control(NamedTuple):
    """A ping, pong or close frame."""

    opcode: int
    payload: bytes


class _Compression:
    """Lets the first frame of a message say that it is compressed; see `wsproto.extensions.Extension`."""

    def frame_inbound_header(self, _: object, opcode: int, rsv: RsvBits, length: int) -> Any:
        del length
        if rsv.rsv1 and (opcode == CONTINUATION or opcode >= CLOSE):
            return CloseReason.PROTOCOL_ERROR
        return RsvBits(rsv.rsv1, False, False)

    def frame_inbound_payload_data(self, _: object, data: bytes) -> bytes:
        return data

    def frame_inbound_complete(self, _: object, fin: bool) -> None:
        del fin


class FrameReader:
    """Takes what the socket brings, and returns what the frames carry.

    Whole messages of one frame are taken together, in one compiled pass; any other frame is decoded by
    itself.

    drained: whether more bytes are needed before `next` returns anything.
    """

    __slots__ = ("_compressed", "_decoder", "_in_message", "_inflater", "_inflating", "_masked", "drained")

    def __init__(self, *, masked: bool, most_inflated: int = 0) -> None:
        """`masked`: whether the peer must mask its frames, or else must not.

        most_inflated: bytes that a compressed message may become; 0 without compression.
        """
        extensions: Any = [_Compression()] if most_inflated else []
        self._masked = masked
        self._decoder = FrameDecoder(not masked, extensions)
        self._inflater = Inflater(most_inflated)
        self._inflating = False
        self._compressed = False
        self._in_message = False
        self.drained = True

    def feed(self, data: bytes) -> None:
        """Take what the socket brought."""
        self._decoder.receive_bytes(data)
        self.drained = False

    def next(self) -> bytes | Control | None:
        """Return a piece of a message, a control frame, or None if `drained`. Raises WebSocketError."""
        if self._inflating:
            piece = self._inflater.take()
            if piece:
                return piece
            self._inflating = False
        try:
            return self._read()
        except ParseFailed as error:
            raise WebSocketError(str(error), int(error.code)) from error

    def _read(self) -> bytes | Control | None:
        decoder = self._decoder
        if decoder.header is None:
            if not self._in_message:
                received = decoder.buffer.buffer  # nothing of it is used between two frames
                taken, payloads = take_frames(received, _TOGETHER, self._masked)
                if taken:
                    del received[:taken]
                    return payloads
            if not decoder.parse_header():
                self.drained = True
                return None
            self._begin()
        frame = decoder.process_buffer()
        if frame is None:
            self.drained = True
            return None
        payload: Any = frame.payload
        if frame.opcode >= CLOSE:
            return Control(int(frame.opcode), payload)
        if not self._compressed:
            return bytes(payload)
        self._inflater.feed(payload, last=frame.frame_finished and frame.message_finished)
        self._inflating = True
        return b""

    def _begin(self) -> None:
        """Check that a frame may begin here."""
        header = self._decoder.header
        assert header is not None
        if header.opcode >= CLOSE:
            return
        if (header.opcode == CONTINUATION) is not self._in_message:
            raise WebSocketError(
                "new message started before final frame for previous message was received"
                if self._in_message
                else "invalid continuation frame"
            )
        if not self._in_message:
            self._compressed = header.rsv.rsv1
        self._in_message = not header.fin


class FrameWriter:
    """Makes the frames to send.

    mask: returns random bytes; None to send without masks, as servers do.
    compress: whether compression was agreed on.
    """

    __slots__ = ("_mask", "compress", "costly")

    def __init__(self, *, mask: Callable[[int], bytes] | None = None, compress: bool = False) -> None:
        self._mask = mask
        self.compress = compress
        self.costly: Final = compress or mask is not None

    def data(self, data: bytes) -> bytes:
        """Return a message of one frame."""
        if self.compress and len(data) > _WORTH:
            return self._frame(BINARY | _FINAL | _COMPRESSED, deflate(data))
        return self._frame(BINARY | _FINAL, data)

    def control(self, opcode: int, payload: bytes) -> bytes:
        """Return a control frame."""
        return self._frame(opcode | _FINAL, payload)

    def _frame(self, first: int, payload: bytes) -> bytes:
        size, mask = len(payload), self._mask
        bit = 0 if mask is None else _MASKED
        if size < 126:
            header = struct.pack("!BB", first, bit | size)
        elif size < 1 << 16:
            header = struct.pack("!BBH", first, bit | 126, size)
        else:
            header = struct.pack("!BBQ", first, bit | 127, size)
        if mask is None:
            return header + payload
        key = mask(4)
        return header + key + mask_bytes(payload, key)


def close_payload(status: int, text: str) -> bytes:
    """Return the payload of a close frame. A text that is too long is cut, which three dots show."""
    raw = text.encode()
    if len(raw) > _MOST_TEXT:
        raw = raw[: _MOST_TEXT - 3].decode(errors="ignore").encode() + b"..."
    return struct.pack("!H", status) + raw


def answer_to_close(payload: bytes) -> bytes:
    """Return the payload with which to answer a close frame. Raises WebSocketError if it is malformed."""
    if not payload:
        return b""
    if len(payload) == 1:
        raise WebSocketError("close frame payload cannot be 1 byte")
    (status,) = struct.unpack_from("!H", payload)
    if status in _RESERVED or not 1000 <= status < 5000 or 1016 <= status < 3000:
        raise WebSocketError(f"invalid close status code {status}")
    try:
        payload[2:].decode()
    except UnicodeDecodeError:
        return close_payload(INVALID_TEXT, "invalid utf8 body in close frame")
    return payload
