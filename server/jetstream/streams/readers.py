"""Readers: the consumers of a stream, by their names and by the subjects that they select.

Promises: a question about a message costs by the number of readers that select its subject, not by the number
of all readers. Only readers with very long filters (more than `LETTERS` together) are asked one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping, Sequence, ValuesView
from typing import Protocol, TypeVar

from ....protocol.subject_tree import SubjectTree
from ...slices import Steps

LETTERS = 8192  # in one reader's filters; more would take more than a few milliseconds to put into the tree


class RetentionReader(Protocol):
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


class StreamReader(RetentionReader, Protocol):
    """A consumer, as its stream sees it.

    name: unique in the stream.
    stopped: whether it has ended and takes nothing more.
    direct: whether it is internal, so that lists do not show it and limits do not count it.
    """

    name: str
    stopped: bool
    direct: bool

    def on_append(self, last_seq: int, /) -> None:
        """Take note that messages up to `last_seq` may be delivered now."""

    def on_removed(self, seq: int, subject: str) -> None:
        """Take note that a message left the stream; its subject is "" if it is unknown."""

    def on_purging(self, gone: Sequence[int] | None) -> Steps[None]:
        """Take note that a part of a purge is done.

        gone: the sequences that left the stream; None: all below the stream's first.
        """

    def after_purge(self) -> Steps[None]:
        """Take note that a purge is complete."""

    def stop(self) -> None:
        """Stop with the server, with everything on the disk afterwards. Blocks."""

    def halt(self) -> None:
        """Unsubscribe, and send nothing more. `write_out` completes the stop."""

    def write_out(self) -> None:
        """Write the state to disk. Blocks; may run in any thread."""

    def delete(self, reason: str = "", /) -> None:
        """End, because the consumer or its stream is deleted."""


R = TypeVar("R", bound=RetentionReader)


class Readers(MutableMapping[str, R]):
    """A mapping of names to readers. Code that changes a reader's filters must call `refiltered`.

    strays: up to this sequence a reader may hold messages that it does not select: it got them under other
        filters, perhaps before a restart.
    """

    __slots__ = ("_filters", "_long", "_readers", "_tree", "strays")

    def __init__(self) -> None:
        self._readers: dict[str, R] = {}
        self._filters: dict[str, Sequence[str]] = {}  # as they are in the tree
        self._tree: SubjectTree[dict[str, R]] = SubjectTree()
        self._long: dict[str, R] = {}  # those that are not in the tree
        self.strays = 0

    def __getitem__(self, name: str) -> R:
        return self._readers[name]

    def __setitem__(self, name: str, reader: R) -> None:
        if name in self._readers:
            self._take_out(name)
        self._readers[name] = reader
        self._put_in(name, reader)

    def __delitem__(self, name: str) -> None:
        del self._readers[name]
        self._take_out(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._readers)

    def __len__(self) -> int:
        return len(self._readers)

    def values(self) -> ValuesView[R]:
        """Return a live view of the readers, in the order in which they were added."""
        return self._readers.values()

    def refiltered(self, name: str, last_seq: int) -> None:
        """Take note that a reader has other filters, while the stream's last message is `last_seq`."""
        reader = self._readers.get(name)
        if reader is not None:
            self._take_out(name)
            self._put_in(name, reader)
            self.strays = max(self.strays, last_seq)

    def _put_in(self, name: str, reader: R) -> None:
        filters = tuple(reader.filters) or (">",)
        if sum(map(len, filters)) > LETTERS:
            self._long[name] = reader
            filters = ()
        for one in filters:
            self._tree.setdefault(one, {})[name] = reader
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
        """Return whether some reader selects the subject."""
        return bool(self._tree.matching(subject)) or any(one.selects(subject) for one in self._long.values())

    def want(self, sequence: int, subject: str, but: object = None) -> bool:
        """Return whether a message has to be kept for some reader other than `but`."""
        for group in self._tree.matching(subject):
            for tried, name in enumerate(reversed(group)):
                reader = group[name]
                if reader is not but and reader.needs(sequence):
                    if tried:  # it probably needs the next message too, so it is asked first then
                        group[name] = group.pop(name)
                    return True
        return any(
            one is not but and one.selects(subject) and one.needs(sequence) for one in self._long.values()
        )

    def concerned(self, sequence: int, subject: str) -> list[R]:
        """Return the readers that may hold or count a message; its subject is "" if it is unknown."""
        if not subject or sequence <= self.strays:
            return list(self._readers.values())
        groups = self._tree.matching(subject)
        if len(groups) == 1 and not self._long:
            return list(groups[0].values())
        found: dict[str, R] = {}  # filters of one reader may overlap
        for group in groups:
            found.update(group)
        return [*(found | self._long).values()]
