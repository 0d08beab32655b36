"""What a consumer needs of the stream it reads: a view of `stream.core.Stream`, small enough to fake."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ....protocol.api.stream import StreamConfig
from ....store.stream import StreamStore
from ...clock import Clock

if TYPE_CHECKING:
    from .core import Consumer


class Readable(Protocol):
    """A stream as its reader sees it."""

    @property
    def store(self) -> StreamStore:
        """Where its messages are."""
        ...

    @property
    def committed_seq(self) -> int:
        """The last sequence that may be delivered: all up to it is durable."""
        ...


class Origin(Readable, Protocol):
    """A stream as its consumers see it."""

    name: str
    config: StreamConfig
    created: int
    clock: Clock

    def remove_acked(self, seq: int, consumer: Consumer) -> None:
        """Hear that `consumer` is done with a message (interest and work queue streams let go of it)."""
        ...
