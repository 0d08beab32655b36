"""ClientParser: parses what a client sends. The hottest code of the server.

Besides what `parser` promises: it reads the input once, and does nothing for each byte. It does not look into
subjects or JSON, and knows neither permissions nor the state of the connection: the caller decides what is
allowed after CONNECT.

Common forms (verb in upper case, single blanks, CRLF) are parsed fast. All others are parsed as
nats-server does (server/parser.go: parse): the verb may have any case, there may be several blanks and tabs,
and CR before LF is optional.
"""

from ...native import scan_publishes
from ..errors import PeerError
from . import violations
from .line import fields, pending_length, read_size, split_verb
from .ops import CONNECT, ERR, HPUB, INFO, NAMES, OK, PING, PONG, PUB, SUB, UNSUB, Op
from .parser import NO_LIMIT, Deliver, Parser

_CR = 13
_VERBS_OF_PUBLISHES = (b"PUB ", b"HPUB ")
_VERB_WITHOUT_HEADERS = (b"PUB ", b"")
_PUBLISH = {b"PUB": PUB, b"HPUB": HPUB}
_RAW = {b"CONNECT": CONNECT, b"INFO": INFO, b"-ERR": ERR}
_BARE = {b"PING": PING, b"PONG": PONG, b"+OK": OK}
_UNSPACED = (b"CONNECT", b"INFO", b"PING", b"PONG", b"+OK")
_SPACED = (b"PUB", b"HPUB", b"SUB", b"UNSUB", b"-ERR")
_VERBS = (*_SPACED, *_UNSPACED)


class ClientParser(Parser):
    """Incremental parser of one client connection; see `Parser` for the other fields.

    headers: whether HPUB is allowed; otherwise it is a violation. May be changed between two calls of `feed`.
    deliver: delivers publishes at the start of what is fed, if that takes no more than to queue them for
        those who receive them, or to pass them to a batch callback. None to return all as operations. May
        be changed likewise.
    """

    __slots__ = ("deliver", "headers")

    def __init__(
        self, max_control_line: int = 4096, max_payload: int = 1048576, headers: bool = True
    ) -> None:
        super().__init__(max_control_line, max_payload)
        self.headers = headers
        self.deliver: Deliver | None = None

    def _parse(self, data: bytes, ops: list[Op], pos: int) -> PeerError | None:
        largest = self.max_payload if self.max_payload >= 0 else NO_LIMIT
        verbs = _VERBS_OF_PUBLISHES if self.headers else _VERB_WITHOUT_HEADERS
        most = self.most
        end = len(data)
        if self.deliver is not None and not ops:
            pos, self.delivered, go_on = self.deliver(data, pos, most, self.max_control_line, largest, verbs)
            most = most - self.delivered if go_on else 0
        while pos < end and len(ops) < most:
            pos = scan_publishes(data, pos, most - len(ops), self.max_control_line, largest, verbs, ops)
            if pos == end or len(ops) == most:
                break
            newline = data.find(b"\n", pos)
            if newline < 0:
                return self._unfinished(data[pos:])
            pos = self._other(data, pos, newline, ops)
            if pos < 0:
                return self._violation
        self.left = end - pos
        return None

    def _other(self, data: bytes, pos: int, newline: int, ops: list[Op]) -> int:
        """Parse the frame at `pos`, which is no whole publish of the common form.

        A PING or a SUB of the common form takes the short way. Return what `_frame` returns.
        """
        if data[newline - 1] == _CR and newline - pos <= self.max_control_line:
            parts = data[pos : newline - 1].split(b" ")
            count = len(parts)
            verb = parts[0]
            if count == 1 and verb in _BARE:
                ops.append((_BARE[verb],))
                return newline + 1
            odd = (
                b"" in parts or data.find(b"\t", pos, newline) >= 0 or data.find(b"\r", pos, newline - 1) >= 0
            )
            if verb == b"SUB" and 3 <= count <= 4 and not odd:
                ops.append((SUB, parts[1], parts[2] if count == 4 else b"", parts[-1]))
                return newline + 1
        return self._frame(data, pos, newline, ops)

    def _hold(self, data: bytes, pos: int, stop: int) -> PeerError | None:
        """Buffer a frame whose payload is not complete. What is there of its end must be right."""
        missing = stop - len(data)
        if missing == 1 and data[-1] != _CR:
            return violations.bad_payload_end("PUB")
        # One byte less, so that a payload that is longer than announced is noticed at once.
        self.buffer.keep(data[pos:], stop - pos - 1)
        return None

    def _frame(self, data: bytes, pos: int, newline: int, ops: list[Op]) -> int:
        line = data[pos:newline]
        if line[-1:] == b"\r":
            line = line[:-1]
        verb, arguments = split_verb(line, _UNSPACED)
        if len(arguments) > self.max_control_line:
            return self._fail(violations.control_line_exceeded(self.max_control_line))
        if len(line) == len(verb) and verb in _SPACED:
            return self._fail(violations.unknown_operation(line))
        if verb in _PUBLISH:
            return self._publish(data, pos, newline, _PUBLISH[verb], arguments, ops)
        if verb in _BARE:
            ops.append((_BARE[verb],))
        elif verb in _RAW:
            ops.append((_RAW[verb], arguments))
        elif verb == b"SUB":
            parts = fields(arguments)
            if len(parts) == 2:
                ops.append((SUB, parts[0], b"", parts[1]))
            elif len(parts) == 3:
                ops.append((SUB, parts[0], parts[1], parts[2]))
            else:
                return self._fail(violations.bad_arguments("SUB", arguments))
        elif verb == b"UNSUB":
            parts = fields(arguments)
            if not 1 <= len(parts) <= 2:
                return self._fail(violations.bad_arguments("UNSUB", arguments))
            ops.append((UNSUB, parts[0], max(read_size(parts[1]), 0) if len(parts) == 2 else 0))
        else:
            return self._fail(violations.unknown_operation(line))
        return newline + 1

    def _publish(self, data: bytes, pos: int, newline: int, op: int, arguments: bytes, ops: list[Op]) -> int:
        """Parse a PUB or HPUB and its payload. Return what `_frame` returns."""
        verb = NAMES[op]
        if op == HPUB and not self.headers:
            return self._fail(violations.headers_not_supported())
        parts = fields(arguments)
        numbers = 2 if op == HPUB else 1
        count = len(parts) - numbers
        if not 1 <= count <= 2:
            return self._fail(violations.bad_arguments(verb, arguments))
        size = read_size(parts[-1])
        header_size = read_size(parts[-2]) if op == HPUB else 0
        if size < 0 or header_size < 0 or header_size > size:
            return self._fail(violations.bad_arguments(verb, arguments))
        if 0 <= self.max_payload < size:
            header = data[newline + 1 : newline + 1 + header_size]
            return self._fail(violations.PayloadExceededError(size, self.max_payload, parts[0], header))
        stop = newline + size + 3
        if stop > len(data):
            self._violation = self._hold(data, pos, stop)
            return -1
        if data[stop - 2 : stop] != b"\r\n":
            return self._fail(violations.bad_payload_end(verb))
        tail = b" ".join(parts[1:]) + b"\r\n" + data[newline + 1 : stop]
        ops.append((op, parts[0], parts[1] if count == 2 else b"", header_size, size, tail))
        return stop

    def _unfinished(self, rest: bytes) -> PeerError | None:
        verb, arguments = split_verb(rest, _UNSPACED)
        if verb not in _VERBS and (len(verb) < len(rest) or not any(v.startswith(verb) for v in _VERBS)):
            return violations.unknown_operation(rest)
        if pending_length(rest, arguments) > self.max_control_line:
            return violations.control_line_exceeded(self.max_control_line)
        self.buffer.keep(rest)
        return None
