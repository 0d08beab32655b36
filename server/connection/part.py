"""Part: what belongs to a connection, and does not keep it alive.

A connection holds its parts. If they held it as well, only the collector of cycles could free a connection
that is gone, and what that costs grows with every live object (server/process/collector.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar
from weakref import ref

if TYPE_CHECKING:
    from .connection import Connection

C = TypeVar("C", bound="Connection")


class Part(Generic[C]):
    """A part of one connection. Nobody calls one whose connection is freed: it is held by that alone."""

    __slots__ = ("_of",)

    def __init__(self, connection: C) -> None:
        self._of = ref(connection)

    @property
    def _connection(self) -> C:
        connection = self._of()
        assert connection is not None
        return connection
