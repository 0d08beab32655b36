"""StreamConsumers: the consumers of a stream, by their names and by the subjects that they select.

Promises: a question about a message costs by the number of consumers that select its subject, not by the
number of all consumers. Only consumers with very long filters (more than `LETTERS` together) are asked one by
one.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping, Sequence, ValuesView
from typing import Protocol, TypeVar

from ....protocol.subject_tree import SubjectTree
from ...slices import Steps

LETTERS = 8192  # in one consumer's filters; more would take more than a few milliseconds to put into the tree


class RetainingConsumer(Protocol):
    """A consumer for which messages may have to be kept."""

    @property
    def filters(self) -> Sequence[str]:
        """The subjects it selects; empty for all."""

    @property
    def passed(self) -> int:
        """The last stream sequence that was delivered to it."""

    def selects(self, subject: str) -> bool:
        """Return whether its filters match the subject."""

    def needs(self, seq: int) -> bool:
        """Return whether a message that it selects has to be kept for it."""


class PurgeObserver(Protocol):
    """Is called while messages are purged."""

    def on_purging(self, gone: Sequence[int] | None) -> Steps[None]:
        """Take note that a part of a purge is done.

        gone: the sequences that left the stream; None: all below the stream's first.
        """

    def after_purge(self) -> Steps[None]:
        """Take note that a purge is complete."""


class ContentsObserver(PurgeObserver, Protocol):
    """Is called when messages come to a stream, and when they leave it."""

    def on_append(self, last_seq: int, /) -> None:
        """Take note that messages up to `last_seq` may be delivered now."""

    def on_removed(self, seq: int, subject: str) -> None:
        """Take note that a message left the stream; its subject is "" if it is unknown."""


class StreamConsumer(RetainingConsumer, ContentsObserver, Protocol):
    """A consumer, as its stream sees it.

    name: unique in the stream.
    stopped: whether it has ended and takes nothing more.
    direct: whether it is internal, so that lists do not show it and limits do not count it.
    """

    name: str
    stopped: bool
    direct: bool

    def halt(self) -> None:
        """Unsubscribe, and send nothing more. `write_out` completes the stop."""

    def write_out(self) -> None:
        """Write the state to disk. Blocks; may run in any thread."""

    def delete(self, reason: str = "", /) -> None:
        """End, because the consumer or its stream is deleted."""


C = TypeVar("C", bound=RetainingConsumer)


class StreamConsumers(MutableMapping[str, C]):
    """A mapping of names to consumers. Code that changes a consumer's filters must call `refiltered`.

    strays: up to this sequence a consumer may hold messages that it does not select: it got them under other
        filters, perhaps before a restart.
    """

    __slots__ = ("_consumers", "_filters", "_long", "_tree", "strays")

    def __init__(self) -> None:
        self._consumers: dict[str, C] = {}
        self._filters: dict[str, Sequence[str]] = {}  # as they are in the tree
        self._tree: SubjectTree[dict[str, C]] = SubjectTree()
        self._long: dict[str, C] = {}  # those that are not in the tree
        self.strays = 0

    def __getitem__(self, name: str) -> C:
        return self._consumers[name]

    def __setitem__(self, name: str, consumer: C) -> None:
        if name in self._consumers:
            self._take_out(name)
        self._consumers[name] = consumer
        self._put_in(name, consumer)

    def __delitem__(self, name: str) -> None:
        del self._consumers[name]
        self._take_out(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._consumers)

    def __len__(self) -> int:
        return len(self._consumers)

    def values(self) -> ValuesView[C]:
        """Return a live view of the consumers, in the order in which they were added."""
        return self._consumers.values()

    def refiltered(self, name: str, last_seq: int) -> None:
        """Take note that a consumer has other filters, while the stream's last message is `last_seq`."""
        consumer = self._consumers.get(name)
        if consumer is not None:
            self._take_out(name)
            self._put_in(name, consumer)
            self.strays = max(self.strays, last_seq)

    def _put_in(self, name: str, consumer: C) -> None:
        filters = tuple(consumer.filters) or (">",)
        if sum(map(len, filters)) > LETTERS:
            self._long[name] = consumer
            filters = ()
        for one in filters:
            self._tree.setdefault(one, {})[name] = consumer
        self._filters[name] = filters

    def _take_out(self, name: str) -> None:
        self._long.pop(name, None)
        for one in self._filters.pop(name):
            group = self._tree.get(one)
            if group is not None:
                group.pop(name, None)
                if not group:
                    self._tree.pop(one)

    def select(self, subject: str) -> bool:
        """Return whether some consumer selects the subject."""
        return bool(self._tree.matching(subject)) or any(one.selects(subject) for one in self._long.values())

    def want(self, sequence: int, subject: str, but: object = None) -> bool:
        """Return whether a message has to be kept for some consumer other than `but`."""
        for group in self._tree.matching(subject):
            for tried, name in enumerate(reversed(group)):
                consumer = group[name]
                if consumer is not but and consumer.needs(sequence):
                    if tried:  # it probably needs the next message too, so it is asked first then
                        group[name] = group.pop(name)
                    return True
        return any(
            one is not but and one.selects(subject) and one.needs(sequence) for one in self._long.values()
        )

    def concerned(self, sequence: int, subject: str) -> list[C]:
        """Return the consumers that may hold or count a message; its subject is "" if it is unknown."""
        if not subject or sequence <= self.strays:
            return list(self._consumers.values())
        groups = self._tree.matching(subject)
        if len(groups) == 1 and not self._long:
            return list(groups[0].values())
        found: dict[str, C] = {}  # filters of one consumer may overlap
        for group in groups:
            found.update(group)
        return [*(found | self._long).values()]
