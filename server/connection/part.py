"""Part: what belongs to a connection, and does not keep it alive.

A connection holds its parts. If they held it as well, only the collector of cycles could free a connection
that is gone, and what that costs grows with every live object (server/process/collector.py). So a part holds
no other part either that holds it, nor a bound method of the connection.
"""

from __future__ import annotations

from typing import Generic, TypeVar
from weakref import ref

C = TypeVar("C")


class Part(Generic[C]):
    """A part of one connection, which is a C. It is not called once the connection is freed: the connection
    alone holds it.
    """

    __slots__ = ("_of",)

    def __init__(self, connection: C) -> None:
        self._of = ref(connection)

    @property
    def _connection(self) -> C:
        connection = self._of()
        assert connection is not None
        return connection
