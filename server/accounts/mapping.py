"""Subject mappings of an account: from a published subject to one of several weighted destinations.

Pure: randomness is an argument. The first mapping whose source matches decides. Literal sources come first.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Iterator

from ...protocol.quoting import quoted
from ...protocol.subject import has_wildcard, is_valid
from ...protocol.subject_tree import SubjectTree
from ...protocol.transform import SubjectTransform, TransformError

FULL = 100


class MappingError(ValueError):
    """An impossible mapping: a bad subject, weights above 100 %, or the same destination twice."""


class Mapping:
    """One source subject with its destinations and their weights in percent.

    What the weights leave of 100 % keeps its subject. If the source itself is one of the destinations, the
    remainder is lost instead.
    """

    __slots__ = ("_cumulative", "source", "weights")

    def __init__(
        self,
        source: str,
        destinations: Iterable[tuple[str, int]],
        random_below: Callable[[int], int] = random.randrange,
    ) -> None:
        if not is_valid(source):
            raise MappingError(f"invalid mapping source {source!r}")
        self.source = source
        self.weights = list(destinations)
        names = [name for name, _ in self.weights]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise MappingError(f"mapping {quoted(source)}: duplicate entry for {quoted(twice)}")
        total = 0
        self._cumulative: list[tuple[int, SubjectTransform | None]] = []
        for name, weight in self.weights:
            if not 0 <= weight <= FULL:
                raise MappingError(f"weight {weight} of {name!r} is not within 0 and 100")
            total += weight
            if total > FULL:
                raise MappingError(f"the weights of the mapping of {source!r} exceed 100 percent")
            try:
                transform = SubjectTransform(source, name, random_below=random_below)
            except TransformError as error:
                where = f"mapping {quoted(source)} -> {quoted(name)}"
                raise MappingError(f"{where}: {error}") from error
            self._cumulative.append((total, transform))
        if total < FULL and source not in names:
            self._cumulative.append((FULL, None))

    def choose(self, subject: str, draw: Callable[[], float]) -> str | None:
        """Return the destination of one message, None if it is lost. `draw` returns numbers in [0, 1)."""
        point = draw() * FULL
        for limit, transform in self._cumulative:
            if point < limit:
                return subject if transform is None else transform.apply(subject)
        return None


class Mappings:
    """All mappings of one account.

    empty: whether there are none.
    """

    __slots__ = ("_count", "_literal", "_ordered", "_patterns", "empty")

    def __init__(self, mappings: Iterable[Mapping] = ()) -> None:
        self._literal: dict[str, Mapping] = {}
        self._patterns: SubjectTree[tuple[int, Mapping]] = SubjectTree()  # with their order
        self._ordered: dict[str, Mapping] = {}  # the same by source, in that order
        self._count = itertools.count()
        self.empty = True
        for mapping in mappings:
            self.add(mapping)

    def __iter__(self) -> Iterator[Mapping]:
        yield from self._literal.values()
        yield from self._ordered.values()

    def following(self, count: int) -> Iterator[Mapping]:
        """Yield all but the first `count`."""
        literal = len(self._literal)
        if count < literal:
            yield from itertools.islice(self._literal.values(), count, None)
        yield from itertools.islice(self._ordered.values(), max(0, count - literal), None)

    def __len__(self) -> int:
        return len(self._literal) + len(self._ordered)

    def add(self, mapping: Mapping) -> None:
        """Add a mapping. It replaces another one with the same source."""
        self.empty = False
        if has_wildcard(mapping.source):
            self._patterns[mapping.source] = next(self._count), mapping
            self._ordered.pop(mapping.source, None)
            self._ordered[mapping.source] = mapping
        else:
            self._literal.pop(mapping.source, None)
            self._literal[mapping.source] = mapping

    def remove(self, source: str) -> bool:
        """Remove the mapping of `source`. Return False if there is none."""
        removed = self._literal.pop(source, None) or self._patterns.pop(source)
        self._ordered.pop(source, None)
        self.empty = not self._literal and not self._patterns
        return removed is not None

    def find(self, subject: str) -> Mapping | None:
        """Return the mapping that applies to the literal `subject`, None if there is none."""
        found = self._literal.get(subject)
        if found is not None:
            return found
        patterns = self._patterns.matching(subject)
        return min(patterns, key=_number)[1] if patterns else None


def _number(entry: tuple[int, Mapping]) -> int:
    return entry[0]
