"""GatewayParser: parses what a server of another cluster sends over a gateway.

Source: nats-server's gateway.go and parser.go. Differs from `route.RouteParser` in that `A+` and `A-` mean
something, and that nothing names the cluster of a leaf.
"""

from typing import ClassVar

from . import violations
from .line import fields
from .ops import ASUB, AUNSUB, Op
from .route import RouteParser


class GatewayParser(RouteParser):
    """Incremental parser of one gateway connection; `ops` lists the operations."""

    __slots__ = ()
    spaced: ClassVar[tuple[bytes, ...]] = (b"RMSG", b"HMSG", b"RS+", b"RS-", b"A+", b"A-", b"-ERR")
    shapes: ClassVar[dict[bytes, tuple[int, int]]] = {b"RMSG": (1, 1), b"HMSG": (1, 2)}

    def _own(self, data: bytes, pos: int, newline: int, verb: bytes, arguments: bytes, ops: list[Op]) -> int:
        if verb not in {b"A+", b"A-"}:
            return super()._own(data, pos, newline, verb, arguments, ops)
        parts = fields(arguments)
        if len(parts) != 1:
            return self._fail(violations.bad_arguments(verb.decode(), arguments))
        ops.append((ASUB if verb == b"A+" else AUNSUB, parts[0]))
        return newline + 1
