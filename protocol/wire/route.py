"""RouteParser: parses what another server of the cluster sends over a route.

It differs from `leaf.LeafParser` in two ways. Every frame names its account. Interest and messages of a leaf
of the other server may name the cluster that they come from (`origin`).
"""

from typing import ClassVar

from . import violations
from .leaf import LeafParser, Message
from .line import fields, read_size
from .ops import ACCOUNT, LMSG, LSUB, LUNSUB, Op


class RouteParser(LeafParser):
    """Incremental parser of one route; `ops` lists the operations.

    origins: whether LS- names its origin, as LS+ does. An older peer's LS- does not; `lnocu` in the peer's
        INFO tells.
    pinned: the account that the route is for, whose frames do not name it; b"" for all accounts.
    """

    __slots__ = ("_account", "origins", "pinned")
    spaced: ClassVar[tuple[bytes, ...]] = (
        b"RMSG",
        b"HMSG",
        b"RS+",
        b"RS-",
        b"LMSG",
        b"LS+",
        b"LS-",
        b"A+",
        b"A-",
        b"-ERR",
    )
    shapes: ClassVar[dict[bytes, tuple[int, int]]] = {b"RMSG": (1, 1), b"HMSG": (1, 2), b"LMSG": (2, 2)}

    def __init__(self, max_control_line: int = 4096, max_payload: int = 1048576) -> None:
        super().__init__(max_control_line, max_payload)
        self.origins = False
        self.pinned = b""
        self._account: bytes | None = None  # of the last message, whose next ones are parsed together
        self._verbs = (b"", b"")

    def _emit(self, lead: list[bytes], message: Message, ops: list[Op]) -> None:
        if len(lead) == 1 and lead[0] != self._account:
            self._account = lead[0]
            name = b"" if self.pinned else lead[0] + b" "
            self._verbs = (b"RMSG " + name, b"HMSG " + name)
            ops.append((ACCOUNT, lead[0]))
        if len(lead) > 1 or message[2]:
            ops.append((LMSG, *message, *lead))
            return
        super()._emit(lead, message, ops)

    def _message(
        self, data: bytes, pos: int, newline: int, verb: bytes, arguments: bytes, ops: list[Op]
    ) -> int:
        if self.pinned:
            origin, *rest = arguments.split(None, 1) if verb == b"LMSG" else (b"", arguments)
            arguments = b" ".join((origin, self.pinned, *rest))
        return super()._message(data, pos, newline, verb, arguments, ops)

    def _own(self, data: bytes, pos: int, newline: int, verb: bytes, arguments: bytes, ops: list[Op]) -> int:
        if verb in self.shapes:
            return self._message(data, pos, newline, verb, arguments, ops)
        if verb in {b"A+", b"A-"}:  # used by gateways; on a route they have no meaning
            return newline + 1
        parts = fields(arguments)
        origin = b""
        if parts and (verb == b"LS+" or (verb == b"LS-" and self.origins)):
            origin, *parts = parts
        if self.pinned:
            parts = [self.pinned, *parts]
        if verb.endswith(b"+") and len(parts) in {2, 4}:
            queue, weight = (parts[2], max(read_size(parts[3]), 1)) if len(parts) == 4 else (b"", 1)
            ops.append((LSUB, parts[1], queue, weight, origin, parts[0]))
        elif verb.endswith(b"-") and len(parts) in {2, 3}:
            ops.append((LUNSUB, parts[1], parts[2] if len(parts) == 3 else b"", origin, parts[0]))
        else:
            return self._fail(violations.bad_arguments(verb.decode(), arguments))
        return newline + 1
