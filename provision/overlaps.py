"""Subjects of two streams, or of two consumers of a work queue: no server accepts them.

Promises: they are found while nothing has been done yet.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

from ..protocol.api.consumer import ConsumerConfig
from ..protocol.api.stream import StreamConfig
from ..protocol.subject import ANY_REST, ANY_TOKEN, collide
from .declared import Id
from .errors import ConflictError
from .observed_state import ObservedState


def refuse(full: Mapping[Id, StreamConfig], observed: ObservedState, deleted: Collection[Id]) -> None:
    """Raise ConflictError if a declared stream would store subjects of another stream of its domain.

    full: declared streams with their defaults.
    deleted: the streams that will not be there any more.
    """
    holders = _Holders()
    for domain, found in observed.domains.items():
        for name, each in found.streams.items():
            if (id := Id(domain, name)) not in full and id not in deleted:  # noqa: A001 - the word for it
                holders.add(id, each.config.subjects)
    reasons = []
    for id, config in full.items():  # noqa: A001
        reasons += [
            f"{id} and {other} would both store messages on {text}"
            for other, text in holders.beside(id, config.subjects)
        ]
        holders.add(id, config.subjects)
    if reasons:
        raise ConflictError("two streams cannot store the same subject", reasons)


def refuse_consumers(consumers: Mapping[Id, ConsumerConfig]) -> None:
    """Raise ConflictError if two consumers of one stream would take the same messages.

    consumers: of work queues, as they will be.
    """
    filters: dict[Id, list[tuple[Id, str]]] = defaultdict(list)
    for id, config in consumers.items():  # noqa: A001
        filters[id._replace(consumer="")] += [(id, each) for each in config.filters or [ANY_REST]]
    reasons: dict[str, None] = {}
    for taken in filters.values():
        for index, (id, one) in enumerate(taken):  # noqa: A001
            for other, two in taken[:index]:
                if other != id and collide(one, two):
                    what = one if one == two else f"{one} and {two}"
                    reasons.setdefault(f"{id} and {other} would both take messages on {what}")
    if reasons:
        raise ConflictError("two consumers of a work queue cannot take the same messages", list(reasons))


class _Holders:
    """The subjects of streams as a tree of tokens: with thousands of streams, few are looked at."""

    def __init__(self) -> None:
        self._roots: dict[str, _Node] = defaultdict(_Node)

    def add(self, id: Id, subjects: Collection[str]) -> None:  # noqa: A002
        """Take down what a stream stores."""
        for subject in subjects:
            node = self._roots[id.domain]
            for token in subject.split("."):
                node = node.below[token]
            node.stored.append((id, subject))

    def beside(self, id: Id, subjects: Collection[str]) -> list[tuple[Id, str]]:  # noqa: A002
        """Return the streams of its domain that store some of these subjects, each with the first of them."""
        found: dict[Id, str] = {}
        for subject in subjects:
            for other, stored in self._roots[id.domain].collide(subject.split("."), 0):
                if other != id:
                    found.setdefault(other, subject if subject == stored else f"{subject} and {stored}")
        return list(found.items())


class _Node:
    """Where subjects with the same first tokens go on. stored: those that end here."""

    __slots__ = ("below", "stored")

    def __init__(self) -> None:
        self.below: dict[str, _Node] = defaultdict(_Node)
        self.stored: list[tuple[Id, str]] = []

    def collide(self, tokens: Sequence[str], depth: int) -> Iterator[tuple[Id, str]]:
        """Yield the subjects that some literal subject matches together with `tokens`."""
        if depth == len(tokens):
            yield from self.stored
            return
        token = tokens[depth]
        if token == ANY_REST:
            for below in self.below.values():
                yield from below.everything()
            return
        if ANY_REST in self.below:
            yield from self.below[ANY_REST].stored
        names = list(self.below) if token == ANY_TOKEN else [token, ANY_TOKEN]
        for name in names:
            if name != ANY_REST and name in self.below:
                yield from self.below[name].collide(tokens, depth + 1)

    def everything(self) -> Iterator[tuple[Id, str]]:
        """Yield all that is stored here and below."""
        yield from self.stored
        for below in self.below.values():
            yield from below.everything()
