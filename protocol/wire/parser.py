"""Parser: what the incremental parsers of all kinds of connections have in common.

A piece is parsed in one go, but no more than `most` operations: a quarter of a megabyte may be ten of them,
or forty thousand.

Promises: any bytes in any chunks; never raises; every operation before a violation is returned, which is the
last; between two reads it holds at most one control line, or one frame whose size was announced.

A connection that must log in is served nothing but CONNECT before that (`await_connect`): any other first
byte is a violation at once, whatever was to follow, and what comes after CONNECT is not looked at until
`connected` (`client.parse`, state OP_START with `awaitingAuth`, in the reference). A WebSocket brings the
same bytes to the same parser; a parser of another protocol says in `_first` which packet it begins with.
"""

from ..errors import PeerError
from . import violations
from .frame_buffer import FrameBuffer
from .ops import VIOLATION, Op

_UNTIL_CONNECTED = 1 << 62  # bytes that what follows CONNECT waits for
_MOST = 512
_FIRST_OF_CONNECT = b"Cc"


class Parser:
    """`max_payload` (bytes, negative: no limit) and `max_control_line` (bytes of arguments) may be changed
    between two calls of `feed`. buffer: what is left over of earlier reads. most: operations after which a
    parse ends; then `left` is how many of the last bytes it was fed were not looked at, to be fed again.
    """

    __slots__ = (
        "_awaits_connect",
        "_dead",
        "_violation",
        "buffer",
        "left",
        "max_control_line",
        "max_payload",
        "most",
    )

    def __init__(self, max_control_line: int, max_payload: int) -> None:
        self.max_control_line = max_control_line
        self.max_payload = max_payload
        self.buffer = FrameBuffer()
        self.most = _MOST
        self.left = 0
        self._awaits_connect = False
        self._dead = False
        self._violation: PeerError | None = None

    def feed(self, data: bytes) -> list[Op]:
        """Parse what one read brought and give the operations that are now whole, see `ops`.

        After a violation, which is always the last of its list, nothing more is parsed.
        """
        self.left = 0
        if self._dead:
            return []
        buffer = self.buffer
        if buffer.chunks:
            joined = buffer.join(data)
            if joined is None:
                return []
            data = joined
        ops: list[Op] = []
        violation = self._first(data, ops) if self._awaits_connect else self._parse(data, ops)
        if violation is not None:
            self._dead = True
            ops.append((VIOLATION, violation))
        return ops

    def await_connect(self) -> None:
        """From now on take CONNECT and nothing else, also not the rest of what is buffered."""
        self._awaits_connect = True
        self.buffer.need = 0

    @property
    def awaits_connect(self) -> bool:
        """Whether nothing but CONNECT is taken."""
        return self._awaits_connect

    def connected(self) -> bytes:
        """CONNECT was accepted, or is no longer asked for: give what came after it, to be fed first."""
        self._awaits_connect = False
        self.buffer.need = 0
        return self.buffer.join(b"") or b""

    def _first(self, data: bytes, ops: list[Op]) -> PeerError | None:
        """Parse one CONNECT, and keep what follows as it is."""
        if data[:1] not in _FIRST_OF_CONNECT:
            return violations.NOT_CONNECT
        newline = data.find(b"\n")
        if newline < 0:
            return self._unfinished(data) if data else None
        following = self._frame(data, 0, newline, ops)
        if following < 0:
            return self._violation
        self.buffer.keep(data[following:], _UNTIL_CONNECTED)
        return None

    # --- what each kind says

    def _parse(self, data: bytes, ops: list[Op]) -> PeerError | None:
        """Parse what is whole in `data`, and buffer the rest; a violation ends it."""
        raise NotImplementedError

    def _frame(self, data: bytes, pos: int, newline: int, ops: list[Op]) -> int:
        """Parse the one frame at `pos`, whose control line ends at `newline`, in any of its forms.

        Gives where the next one starts, or -1 if there is no next one to parse: the frame is buffered, or
        `_violation` is set.
        """
        raise NotImplementedError

    def _unfinished(self, rest: bytes) -> PeerError | None:
        """Hold a control line without its end, unless it is already wrong or too long."""
        raise NotImplementedError

    def _fail(self, violation: PeerError) -> int:
        self._violation = violation
        return -1
