"""LeafParser: parses what the other end of a leaf connection sends. Both ends use it.

Promises what `parser` promises. A control line may be longer than a client's, because it may name many queue
groups: see `limits.LEAF_CONTROL_LINE_FACTOR`.
"""

from typing import ClassVar

from ...native import scan_publishes
from ..errors import PeerError
from ..limits import LEAF_CONTROL_LINE_FACTOR
from . import encode, violations
from .line import fields, pending_length, read_size, split_verb
from .ops import CONNECT, ERR, HPUB, INFO, LMSG, LSUB, LUNSUB, OK, PING, PONG, PUB, Op
from .parser import NO_LIMIT, Deliver, Parser

# Subject, reply, queues, header size, size, payload.
Message = tuple[bytes, bytes, tuple[bytes, ...], int, int, bytes]

_CR = 13
_RAW = {b"CONNECT": CONNECT, b"INFO": INFO, b"-ERR": ERR}
_BARE = {b"PING": PING, b"PONG": PONG, b"+OK": OK}
_UNSPACED = (b"CONNECT", b"INFO", b"PING", b"PONG", b"+OK")


class LeafParser(Parser):
    """Incremental parser of one leaf connection; see `Parser` for the fields.

    max_control_line: the limit for clients. Here it is multiplied by LEAF_CONTROL_LINE_FACTOR.
    deliver: as of `client.ClientParser`.
    """

    __slots__ = ("_verbs", "deliver")
    spaced: ClassVar[tuple[bytes, ...]] = (b"LMSG", b"HMSG", b"LS+", b"LS-", b"-ERR")
    # By the verb of a message: how many fields come before its subject, and how many sizes after it.
    shapes: ClassVar[dict[bytes, tuple[int, int]]] = {b"LMSG": (0, 1), b"HMSG": (0, 2)}

    def __init__(self, max_control_line: int = 4096, max_payload: int = 1048576) -> None:
        super().__init__(max_control_line, max_payload)
        self._verbs = (b"LMSG ", b"HMSG ")  # of publishes of the common form; b"" for none
        self.deliver: Deliver | None = None

    def _parse(self, data: bytes, ops: list[Op], pos: int) -> PeerError | None:
        largest = self.max_payload if self.max_payload >= 0 else NO_LIMIT
        most = self.most
        end = len(data)
        if self.deliver is not None and not ops and self._verbs[0]:
            pos, self.delivered, go_on = self.deliver(
                data, pos, most, self.max_control_line, largest, self._verbs
            )
            most = most - self.delivered if go_on else 0
        while pos < end and len(ops) < most:
            pos = scan_publishes(data, pos, most - len(ops), self.max_control_line, largest, self._verbs, ops)
            if pos == end or len(ops) >= most:
                break
            newline = data.find(b"\n", pos)
            if newline < 0:
                return self._unfinished(data[pos:])
            pos = self._frame(data, pos, newline, ops)
            if pos < 0:
                return self._violation
        self.left = end - pos
        return None

    def _frame(self, data: bytes, pos: int, newline: int, ops: list[Op]) -> int:
        line = data[pos : newline - 1 if data[newline - 1] == _CR and newline > pos else newline]
        verb, arguments = split_verb(line, _UNSPACED)
        if len(arguments) > self.max_control_line * LEAF_CONTROL_LINE_FACTOR:
            return self._fail(violations.control_line_exceeded(self.max_control_line))
        if verb in self.spaced:
            if len(line) == len(verb):
                return self._fail(violations.unknown_operation(line))
            if verb != b"-ERR":
                return self._own(data, pos, newline, verb, arguments, ops)
        if verb in _BARE:
            ops.append((_BARE[verb],))
        elif verb in _RAW:
            ops.append((_RAW[verb], arguments))
        else:
            return self._fail(violations.unknown_operation(line))
        return newline + 1

    def _own(self, data: bytes, pos: int, newline: int, verb: bytes, arguments: bytes, ops: list[Op]) -> int:
        """Parse a frame that only this kind of connection has. Return what `_frame` returns."""
        if verb == b"LS+":
            return self._sub(newline, arguments, ops)
        if verb != b"LS-":
            return self._message(data, pos, newline, verb, arguments, ops)
        parts = fields(arguments)
        if not 1 <= len(parts) <= 2:
            return self._fail(violations.bad_arguments("LS-", arguments))
        ops.append((LUNSUB, parts[0], parts[1] if len(parts) == 2 else b""))
        return newline + 1

    def _sub(self, newline: int, arguments: bytes, ops: list[Op]) -> int:
        parts = fields(arguments)
        if len(parts) == 1:
            ops.append((LSUB, parts[0], b"", 1))
        elif len(parts) == 3:
            ops.append((LSUB, parts[0], parts[1], max(read_size(parts[2]), 1)))
        else:
            return self._fail(violations.bad_arguments("LS+", arguments))
        return newline + 1

    def _message(
        self, data: bytes, pos: int, newline: int, verb: bytes, arguments: bytes, ops: list[Op]
    ) -> int:
        """Parse ``lead... subject [reply | (+ reply | |) queue...] [header_size] size`` and the payload."""
        name = verb.decode()
        parts = fields(arguments)
        first, sizes = self.shapes[verb]
        lead, head = parts[:first], parts[first:-sizes]
        if not head:
            return self._fail(violations.bad_arguments(name, arguments))
        size = read_size(parts[-1])
        header_size = read_size(parts[-2]) if sizes == 2 else 0
        reply = b""
        queues: tuple[bytes, ...] = ()
        if len(head) == 2:
            reply = head[1]
        elif len(head) > 2:
            if head[1] == b"+":
                reply, queues = head[2], tuple(head[3:])
            elif head[1] == b"|":
                queues = tuple(head[2:])
            else:
                return self._fail(violations.bad_arguments(name, arguments))
        if size < 0 or header_size < 0 or header_size > size:
            return self._fail(violations.bad_arguments(name, arguments))
        if 0 <= self.max_payload < size:
            return self._fail(violations.PayloadExceededError(size, self.max_payload))
        stop = newline + size + 3
        if stop > len(data):
            if stop - len(data) == 1 and data[-1] != _CR:
                return self._fail(violations.bad_payload_end(name))
            self.buffer.keep(data[pos:], stop - pos - 1)
            return -1
        if data[stop - 2 : stop] != b"\r\n":
            return self._fail(violations.bad_payload_end(name))
        self._emit(lead, (head[0], reply, queues, header_size, size, data[newline + 1 : stop - 2]), ops)
        return stop

    def _emit(self, lead: list[bytes], message: Message, ops: list[Op]) -> None:
        """Add the operation of a message: PUB or HPUB, or LMSG if it names queue groups.

        lead: the fields before its subject.
        """
        subject, reply, queues, header_size, size, payload = message
        if queues:
            ops.append((LMSG, *message, *lead))
            return
        tail = encode.tail(reply, payload[:header_size], payload[header_size:])
        ops.append((HPUB if header_size else PUB, subject, reply, header_size, size, tail))

    def _unfinished(self, rest: bytes) -> PeerError | None:
        verb, arguments = split_verb(rest, _UNSPACED)
        verbs = (*self.spaced, *_UNSPACED)
        if verb not in verbs and (len(verb) < len(rest) or not any(v.startswith(verb) for v in verbs)):
            return violations.unknown_operation(rest)
        if pending_length(rest, arguments) > self.max_control_line * LEAF_CONTROL_LINE_FACTOR:
            return violations.control_line_exceeded(self.max_control_line)
        self.buffer.keep(rest)
        return None
