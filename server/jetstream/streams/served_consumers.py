"""ServedConsumers: the consumers of a stream that this server serves, and those that it cannot read."""

from __future__ import annotations

from typing import TypeVar

from ....protocol.errors import api_error
from .stream_consumers import StreamConsumer, StreamConsumers

C = TypeVar("C", bound=StreamConsumer)  # a layer above has the class


class ServedConsumers(StreamConsumers[C]):
    """The consumers by name.

    offline: why each consumer on the disk that cannot be read is offline, by name.
    """

    __slots__ = ("_halted", "offline")

    def __init__(self) -> None:
        super().__init__()
        self.offline: dict[str, str] = {}
        self._halted: list[C] = []

    def public(self) -> list[C]:
        """Return the consumers that lists show and limits count, in the order of their names."""
        return [c for _, c in sorted(self.items()) if not c.direct]

    def lookup(self, name: str) -> C:
        """Find a consumer. Raises ApiError 10014 if there is none, 10195 if it cannot be read."""
        consumer = self.get(name)
        if consumer is None:
            self.must_be_readable(name)
            raise api_error("JSConsumerNotFoundErr")
        return consumer

    def must_be_readable(self, name: str) -> None:
        """Raise ApiError 10195 if the consumer is on the disk and cannot be read."""
        if name in self.offline:
            raise api_error("JSConsumerOfflineReasonErrF", err=self.offline[name])

    def halt(self) -> None:
        """Let the consumers unsubscribe and send nothing more. `write_out` completes the stop."""
        self._halted = [consumer for consumer in self.values() if not consumer.stopped]
        for consumer in self._halted:
            consumer.halt()

    def write_out(self) -> None:
        """Write the halted consumers' states to disk. Blocks; may run in any thread."""
        for consumer in self._halted:
            consumer.write_out()

    def delete(self) -> None:
        """End all consumers, because their stream is deleted."""
        for consumer in list(self.values()):
            consumer.delete("stream deleted")
        self.clear()
