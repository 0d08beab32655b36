"""MQTTParser: cuts what a client sends into packets.

It decides about a packet by its first bytes: a CONNECT may be no larger than the strings of one can be, any
other no larger than a message of `max_payload` with its topic. Otherwise it promises what `Parser` promises.
"""

from __future__ import annotations

from ...protocol.errors import PeerError
from ...protocol.wire.client import ClientParser
from ...protocol.wire.ops import Op
from .packets import CONNECT, LONGEST_STRING, broken, check_header

TOO_LARGE = "Maximum Message Payload Exceeded"
_UNTIL_CONNECTED = 1 << 62  # as in `protocol.wire.parser`: what follows CONNECT stays buffered
# The fields of a CONNECT without its strings, and five strings with their lengths.
_LARGEST_CONNECT = 10 + 5 * (LONGEST_STRING + 2)
_BESIDES = LONGEST_STRING + 4  # bytes of a PUBLISH besides its payload
_LENGTH_BYTES = 4


class MQTTParser(ClientParser):
    """The parser of one MQTT connection. An operation is (kind, flags, body), see `packets`."""

    __slots__ = ()

    def __init__(self, max_payload: int) -> None:
        super().__init__(0, max_payload, headers=False)
        self.await_connect()

    def _first(self, data: bytes, ops: list[Op]) -> PeerError | None:
        if not data:
            return None
        if data[0] & 0xF0 != CONNECT:
            if data.startswith(b"GET "):
                return broken(
                    "MQTT clients over websocket must connect to the Websocket port, not the MQTT port"
                )
            return broken(f"the first packet should be a CONNECT ({CONNECT}), got {data[0] & 0xF0}")
        following = self._frame(data, 0, -1, ops)
        if following < 0:
            return self._violation
        if following:
            self.buffer.keep(data[following:], _UNTIL_CONNECTED)
        return None

    def _parse(self, data: bytes, ops: list[Op], pos: int) -> PeerError | None:
        while pos < len(data) and len(ops) < self.most:
            following = self._frame(data, pos, -1, ops)
            if following < 0:
                return self._violation
            if following == pos:
                return None  # the rest is buffered
            pos = following
        self.left = len(data) - pos
        return None

    def _frame(self, data: bytes, pos: int, newline: int, ops: list[Op]) -> int:
        """Parse the packet at `pos`. Return where the next one starts, `pos` if this one is buffered."""
        del newline
        kind, flags = data[pos] & 0xF0, data[pos] & 0x0F
        at, size = pos + 1, 0
        for number in range(_LENGTH_BYTES):
            if at == len(data):
                self.buffer.keep(data[pos:])
                return pos
            digit = data[at]
            at += 1
            size |= (digit & 0x7F) << 7 * number
            if digit < 0x80:
                break
        else:
            return self._fail(broken("malformed variable int"))
        try:
            check_header(kind, flags, size)
        except PeerError as error:
            return self._fail(error)
        if size > self._most(kind):
            return self._fail(PeerError("", reason=TOO_LARGE))
        if at + size > len(data):
            self.buffer.keep(data[pos:], at + size - pos - 1)
            return pos
        ops.append((kind, flags, data[at : at + size]))
        return at + size

    def _most(self, kind: int) -> int:
        """Return how many bytes may follow the fixed header."""
        if self.max_payload < 0:
            return _LARGEST_CONNECT if kind == CONNECT else 1 << 28
        if kind == CONNECT:
            return min(_LARGEST_CONNECT, self.max_payload)
        return self.max_payload + _BESIDES
