"""StreamView: what the message selector needs of the `Stream` that it reads; small enough to fake."""

from __future__ import annotations

from typing import Protocol

from ....store.stream import StreamStore


class StreamView(Protocol):
    """A stream as its reader sees it."""

    @property
    def store(self) -> StreamStore:
        """Where its messages are."""
        ...

    @property
    def committed_seq(self) -> int:
        """The last sequence that may be delivered: all up to it is durable."""
        ...
