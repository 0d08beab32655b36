"""Parser: what the incremental parsers of all kinds of connections have in common.

A piece is parsed in one go, but no further than `most` operations, since a quarter of a megabyte may be ten
of them or forty thousand.

Promises: it takes any bytes in any pieces. It never raises. Every operation before a violation is returned,
and the violation is the last one. Between two reads it holds at most one control line, or one frame whose
size was announced.

From a connection that must log in it takes nothing but CONNECT at first (`await_connect`). Any other first
byte is a violation at once, whatever follows, and what comes after CONNECT is not looked at until `connected`
(nats-server's server/parser.go: parse, state OP_START with `awaitingAuth`). A WebSocket brings the same bytes
to the same parser. A parser of another protocol overrides `_first` to say which packet it begins with.
"""

from collections.abc import Callable

from ..errors import PeerError
from . import violations
from .frame_buffer import FrameBuffer
from .ops import VIOLATION, Op

# Called with data, pos, most, longest, largest and verbs as in `native.deliver_publishes`. Returns (position,
# count) as that does, and whether to parse on.
Deliver = Callable[[bytes, int, int, int, int, tuple[bytes, bytes]], tuple[int, int, bool]]

_UNTIL_CONNECTED = 1 << 62  # more bytes than can come: what follows CONNECT stays buffered
_MOST = 512
_APART = (
    4096  # bytes behind an unfinished frame from which on they are not joined to it, which would copy them
)
NO_LIMIT = 1 << 62  # bytes; a payload that may have any size
_FIRST_OF_CONNECT, _FIRST_OF_INFO = b"Cc", b"Ii"


class Parser:
    """The base of the parsers.

    max_payload: the largest payload in bytes; negative for no limit. May be changed between two calls of
        `feed`.
    max_control_line: the most bytes of arguments in a control line. May be changed likewise.
    buffer: what is left over of earlier reads.
    most: the number of operations after which a parse ends.
    left: how many of the last bytes fed were then not looked at; the caller feeds them again.
    delivered: how many publishes of the last bytes fed were delivered while they were parsed, and so are not
        among the operations.
    """

    __slots__ = (
        "_awaits_connect",
        "_dead",
        "_takes_info",
        "_violation",
        "buffer",
        "delivered",
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
        self.delivered = 0
        self._awaits_connect = self._takes_info = False
        self._dead = False
        self._violation: PeerError | None = None

    def feed(self, data: bytes) -> list[Op]:
        """Parse what one read brought, and return the operations that are now complete; see `ops`.

        After a violation, which is always the last of its list, nothing more is parsed.
        """
        self.left = 0
        self.delivered = 0
        if self._dead:
            return []
        ops: list[Op] = []
        violation: PeerError | None = None
        pos = delivered = 0
        buffer = self.buffer
        if buffer.chunks:
            lacking = 0 if self._awaits_connect else buffer.lacking
            if lacking and len(data) - lacking >= _APART:
                pos = lacking
            joined = buffer.join(data[:pos] if pos else data)
            if joined is None:
                return []
            if pos:
                violation = self._parse(joined, ops, 0)
                delivered, self.delivered = self.delivered, 0
            else:
                data = joined
        if violation is None:
            violation = self._first(data, ops) if self._awaits_connect else self._parse(data, ops, pos)
        self.delivered += delivered
        if violation is not None:
            self._dead = True
            ops.append((VIOLATION, violation))
        return ops

    def await_connect(self, *, or_info: bool = False) -> None:
        """Take CONNECT and nothing else from now on, not even the rest of what is buffered.

        or_info: take INFO too, after which this is called again.
        """
        self._awaits_connect, self._takes_info = True, or_info
        self.buffer.need = 0

    @property
    def awaits_connect(self) -> bool:
        """Whether nothing but CONNECT is taken."""
        return self._awaits_connect

    def connected(self) -> bytes:
        """Return what came after CONNECT, to be fed first. CONNECT was accepted or is no longer required."""
        self._awaits_connect = False
        self.buffer.need = 0
        return self.buffer.join(b"") or b""

    def _first(self, data: bytes, ops: list[Op]) -> PeerError | None:
        """Parse one CONNECT, or an INFO if that may come, and buffer what follows as it is."""
        if data[:1] not in _FIRST_OF_CONNECT and not (self._takes_info and data[:1] in _FIRST_OF_INFO):
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

    def _parse(self, data: bytes, ops: list[Op], pos: int) -> PeerError | None:
        """Parse what is complete in `data` from `pos` on, and buffer the rest.

        A violation ends the parse and is returned. If there are operations already, nothing is delivered.
        """
        raise NotImplementedError

    def _frame(self, data: bytes, pos: int, newline: int, ops: list[Op]) -> int:
        """Parse the one frame at `pos`, whose control line ends at `newline`, in any of its forms.

        Return where the next frame starts, or -1 if there is none to parse because this one is buffered or
        `_violation` is set.
        """
        raise NotImplementedError

    def _unfinished(self, rest: bytes) -> PeerError | None:
        """Buffer a control line without its end, unless it is already wrong or too long."""
        raise NotImplementedError

    def _fail(self, violation: PeerError) -> int:
        self._violation = violation
        return -1
