"""ConnectionPart: what belongs to a connection and does not keep it alive.

A connection holds its parts. If the parts held the connection as well, only the collector of cycles could
free a connection that is gone, and the cost of that grows with every live object (see
server/process/collector.py). For the same reason a part holds no bound method of the connection, and no other
part that holds it.
"""

from __future__ import annotations

from typing import Generic, TypeVar
from weakref import ref

C = TypeVar("C")


class ConnectionPart(Generic[C]):
    """A part of one connection of type C.

    Only the connection holds it, so nobody calls it after the connection is freed.
    """

    __slots__ = ("_of",)

    def __init__(self, connection: C) -> None:
        self._of = ref(connection)

    @property
    def _connection(self) -> C:
        connection = self._of()
        assert connection is not None
        return connection
