"""InterestRetention: decides which messages streams with interest and work queue retention keep.

Promises:
- Under interest retention a message stays while some consumer still wants it. It also stays while a consumer
  cannot be read, as nobody knows what that one wants.
- In a work queue a message stays until one consumer acknowledged it.
- Under limits retention consumers do not matter.
- The cost of a message grows with the number of consumers that select it.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from ....protocol.api.stream import StreamConfig
from ....store.errors import NotFound
from ....store.stream import StreamStore
from ...slices import Steps, paced

if TYPE_CHECKING:
    from .limits import Removed
    from .stream_consumers import RetainingConsumer, StreamConsumers


class InterestRetention:
    """The retention of one stream.

    by_interest, by_work: whether it is an interest stream or a work queue.
    """

    __slots__ = ("_consumers", "_removed", "_store", "_unreadable", "by_interest", "by_work")

    def __init__(
        self,
        config: StreamConfig,
        store: StreamStore,
        consumers: StreamConsumers[Any],
        removed: Removed,
        *,
        unreadable: Collection[str] = (),
    ) -> None:
        """unreadable: the names of consumers that are on disk and cannot be read; they may change."""
        self._unreadable = unreadable
        self._store = store
        self._consumers = consumers
        self._removed = removed
        self.configure(config)

    def configure(self, config: StreamConfig) -> None:
        """Take over a new configuration."""
        self.by_interest = config.retention == "interest"
        self.by_work = config.retention == "workqueue"

    def nobody_listens(self, subject: str) -> bool:
        """Return whether no consumer selects the subject, however far each has read."""
        return not self._unreadable and not self._consumers.select(subject)

    def drop_unheard(self, sequence: int, subject: str) -> None:
        """Remove a message that was just stored, if no consumer selects its subject."""
        if self.nobody_listens(subject) and self._store.remove(sequence) is not None:
            self._removed(sequence, subject)

    def nobody_wants(self, sequence: int, subject: str) -> bool:
        """Return whether no consumer wants the message any more (under interest retention)."""
        return not self._unreadable and not self._consumers.want(sequence, subject)

    def acked(self, sequence: int, by: RetainingConsumer) -> bool:
        """Remove a message that `by` is done with, if nobody else wants it; return whether it was removed."""
        if not (self.by_interest or self.by_work):
            return False
        try:
            subject = self._store.subject_of(sequence)
        except NotFound:
            return False
        if self.by_interest and (self._unreadable or self._consumers.want(sequence, subject, by)):
            return False
        if self._store.remove(sequence) is None:
            return False
        self._removed(sequence, subject)
        return True

    def all_acked(self, sequences: list[int], by: RetainingConsumer) -> Steps[int]:
        """Do in steps what `acked` does, for many messages; return how many were removed."""
        return paced(self._acking(sequences, by))

    def _acking(self, sequences: list[int], by: RetainingConsumer) -> Steps[int]:
        gone = 0
        for sequence in sequences:
            gone += self.acked(sequence, by)
            yield
        return gone

    def recover(self) -> Steps[None]:
        """Remove, in steps, what was acknowledged before a crash but not yet removed.

        Only delivered messages can have been acknowledged, so the cost depends on their number and not on
        that of the stream's messages.
        """
        if not (self.by_interest or self.by_work):
            return
        for consumer in list(self._consumers.values()):
            filters = consumer.filters
            sequence = self._store.next_seq(filters, self._store.first_seq)
            while 0 < sequence <= consumer.passed:
                if not consumer.needs(sequence):
                    self.acked(sequence, consumer)
                sequence = self._store.next_seq(filters, sequence + 1)
                yield
        if not self._consumers:
            yield from self.sweeping()

    def sweeping(self) -> Steps[int]:
        """Remove all that no consumer wants any more, after one left or changed; return their number."""
        return paced(self._sweeping())

    def _sweeping(self) -> Steps[int]:
        gone, store = 0, self._store
        sequence = store.next_seq((), 0)
        while sequence and self.by_interest:
            subject = store.subject_of(sequence)
            if self.nobody_wants(sequence, subject):
                store.remove(sequence)
                self._removed(sequence, subject)
                gone += 1
            yield
            sequence = store.next_seq((), sequence + 1)
        return gone
