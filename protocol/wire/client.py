"""ClientParser: parses what a client sends. The hottest code of the server.

Besides what `parser` promises: it reads the input once, and does nothing for each byte. It does not look into
subjects or JSON, and knows neither permissions nor the state of the connection: the caller decides what is
allowed after CONNECT.

Common forms (verb in upper case, single blanks, CRLF) are parsed fast. All others are parsed as the reference
does it: the verb may have any case, there may be several blanks and tabs, and CR before LF is optional.
"""

from ..errors import PeerError
from . import violations
from .line import fields, pending_length, read_size, split_verb
from .ops import CONNECT, ERR, HPUB, INFO, NAMES, OK, PING, PONG, PUB, SUB, UNSUB, Op
from .parser import Parser

_CR = 13
_LF = 10
_SIZES_KEPT = 1024
_NO_LIMIT = 1 << 62
_PUBLISH = {b"PUB": PUB, b"HPUB": HPUB}
_RAW = {b"CONNECT": CONNECT, b"INFO": INFO, b"-ERR": ERR}
_BARE = {b"PING": PING, b"PONG": PONG, b"+OK": OK}
_UNSPACED = (b"CONNECT", b"INFO", b"PING", b"PONG", b"+OK")
_SPACED = (b"PUB", b"HPUB", b"SUB", b"UNSUB", b"-ERR")
_VERBS = (*_SPACED, *_UNSPACED)


class ClientParser(Parser):
    """Incremental parser of one client connection; see `Parser` for the other fields.

    headers: whether HPUB is allowed; otherwise it is a violation. May be changed between two calls of `feed`.
    """

    __slots__ = ("_header_sizes", "_sizes", "headers")

    def __init__(
        self, max_control_line: int = 4096, max_payload: int = 1048576, headers: bool = True
    ) -> None:
        super().__init__(max_control_line, max_payload)
        self.headers = headers
        self._sizes: dict[bytes, int] = {}
        self._header_sizes: dict[bytes, int] = {}

    def _parse(self, data: bytes, ops: list[Op]) -> PeerError | None:
        find = data.find
        append = ops.append
        known_size = self._sizes.get
        limit = self.max_payload if self.max_payload >= 0 else _NO_LIMIT
        longest = self.max_control_line + 5
        tabs = find(b"\t") >= 0
        end = len(data)
        pos = 0
        last = last_reply = b""
        turns = iter(range(self.most))  # one for each operation
        for _ in turns:
            newline = find(b"\n", pos)
            if newline < 0:
                return self._unfinished(data[pos:]) if pos < end else None
            parts = data[pos:newline].split(b" ")
            reply = b""
            size = None
            if len(parts) == 3:
                verb, subject, digits = parts
                if verb == b"PUB" and subject and not tabs and _CR not in subject:
                    size = known_size(digits)
            elif len(parts) == 4:
                verb, subject, reply, digits = parts
                if verb == b"PUB" and subject and reply and not tabs and _CR not in subject + reply:
                    size = known_size(digits)
            if size is None or newline - pos > longest:
                headed = parts[0] == b"HPUB" and not tabs
                following = self._headed(data, pos, newline, parts, ops) if headed else 0
                pos = following or self._other(data, pos, newline, ops)
                if pos < 0:
                    return self._violation
                continue
            if size > limit:
                return violations.payload_exceeded(size, limit)
            stop = newline + size + 3
            tail_at = pos + 5 + len(subject)
            if subject == last and reply == last_reply:
                # A line that came twice is likely to come again; then it need not be read.
                length = stop - pos
                again = b"\r\n" + data[pos : newline + 1]
                for _ in turns:
                    if not data.startswith(again, stop - 2):
                        break
                    append((PUB, subject, reply, 0, size, data[tail_at:stop]))
                    pos = stop
                    tail_at += length
                    stop += length
            if stop > end:
                return self._hold(data, pos, stop)
            if data[stop - 2] != _CR or data[stop - 1] != _LF:
                return violations.bad_payload_end("PUB")
            append((PUB, subject, reply, 0, size, data[tail_at:stop]))
            last, last_reply = subject, reply
            pos = stop
        self.left = end - pos
        return None

    def _headed(self, data: bytes, pos: int, newline: int, parts: list[bytes], ops: list[Op]) -> int:
        """Parse a whole HPUB of known sizes. Return where the next frame starts, 0 if it is not one."""
        count = len(parts)
        if not 4 <= count <= 5 or b"" in parts or newline - pos > self.max_control_line or not self.headers:
            return 0
        size, header_size = self._sizes.get(parts[-1]), self._header_sizes.get(parts[-2])
        if size is None or header_size is None or header_size > size or 0 <= self.max_payload < size:
            return 0
        stop = newline + size + 3
        if data[stop - 2 : stop] != b"\r\n":
            return 0
        subject = parts[1]
        reply = parts[2] if count == 5 else b""
        if _CR in subject or _CR in reply:
            return 0
        ops.append((HPUB, subject, reply, header_size, size, data[pos + 6 + len(subject) : stop]))
        return stop

    def _learn_size(self, digits: bytes, size: int) -> None:
        """Remember the size at the end of a line, with its CR, so that its digits are read only once."""
        if len(self._sizes) >= _SIZES_KEPT:
            self._sizes.clear()
        self._sizes[digits + b"\r"] = size

    def _learn_header_size(self, digits: bytes, size: int) -> None:
        """Remember the size of a header, as `_learn_size` does; its digits end without a CR."""
        if len(self._header_sizes) >= _SIZES_KEPT:
            self._header_sizes.clear()
        self._header_sizes[digits] = size

    def _other(self, data: bytes, pos: int, newline: int, ops: list[Op]) -> int:
        """Parse the frame at `pos`, which is not a PUB of known size. Return what `_frame` returns."""
        if data[newline - 1] != _CR or newline - pos > self.max_control_line:
            return self._frame(data, pos, newline, ops)
        parts = data[pos : newline - 1].split(b" ")
        count = len(parts)
        verb = parts[0]
        if count == 1 and verb in _BARE:
            ops.append((_BARE[verb],))
            return newline + 1
        if b"" in parts or data.find(b"\t", pos, newline) >= 0 or data.find(b"\r", pos, newline - 1) >= 0:
            return self._frame(data, pos, newline, ops)
        if verb == b"SUB" and 3 <= count <= 4:
            ops.append((SUB, parts[1], parts[2] if count == 4 else b"", parts[-1]))
            return newline + 1
        op = _PUBLISH.get(verb, 0)
        fixed = 3 if op == PUB else 4
        if op and fixed <= count <= fixed + 1 and (op == PUB or self.headers):
            size = read_size(parts[-1])
            header_size = read_size(parts[-2]) if op == HPUB else 0
            stop = newline + size + 3
            if (
                0 <= header_size <= size
                and (size <= self.max_payload or self.max_payload < 0)
                and data[stop - 2 : stop] == b"\r\n"
            ):
                self._learn_size(parts[-1], size)
                if op == HPUB:
                    self._learn_header_size(parts[-2], header_size)
                tail_at = pos + len(verb) + len(parts[1]) + 2
                reply = parts[2] if count > fixed else b""
                ops.append((op, parts[1], reply, header_size, size, data[tail_at:stop]))
                return stop
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
            return self._fail(violations.payload_exceeded(size, self.max_payload))
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
