"""SubjectScans: finds the subjects that filters match by a pass over all subjects.

To bring a million subjects in order takes a second, and a walk through them is slow where a wildcard comes
before what a filter wants. A pass over all takes a tenth of that. So the first filters are matched by passes,
and the subjects are brought in order only when so many filters came that this would have been cheaper.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..native import match_names
from ..native.matching import covers
from ..protocol.subject import ANY_TOKEN, has_wildcard

STEP = 2048  # subjects looked at in one step
_CHEAPER = 16  # times less than to bring a subject in order takes to look at it
_MOST_PASSES = _CHEAPER  # over as many subjects as there are
_MOST_OF_PREFIXES = 4  # the same for filters that ask for all subjects with a prefix, which order finds best
_MOST_PATTERNS = 8


class SubjectScans:
    """The passes over the subjects of one index."""

    __slots__ = ("_looked_at",)

    def __init__(self) -> None:
        self._looked_at = 0  # how many subjects all passes have looked at

    def cheaper(self, filters: Sequence[str], subjects: int, ordered: int) -> bool:
        """Return whether to match these filters by another pass.

        subjects: how many there are. ordered: how many of them are in order already.
        """
        unordered = subjects - ordered
        patterns = [one for one in filters if has_wildcard(one)]
        if not 0 < len(patterns) <= _MOST_PATTERNS or subjects > _CHEAPER * unordered:
            return False
        prefixes = all(one.find(ANY_TOKEN) in {-1, len(one) - 1} for one in patterns)
        return self._looked_at < (_MOST_OF_PREFIXES if prefixes else _MOST_PASSES) * unordered

    def matching(self, filters: Sequence[str], names: list[str], ids: dict[str, int]) -> Iterator[list[int]]:
        """List the ids of the subjects that the filters match, a part in each step, each once.

        names: the subjects by id, "" where an id is free. ids: by subject. Both may change between two steps:
        what comes later is not found for sure.
        """
        patterns = [tuple(_octets(one).split(b".")) for one in filters if has_wildcard(one)]
        literals = [one for one in dict.fromkeys(filters) if not has_wildcard(one)]
        others = [one for one in literals if not any(covers(p, _octets(one).split(b".")) for p in patterns)]
        for start in range(0, len(others), STEP):
            yield [number for one in others[start : start + STEP] if (number := ids.get(one)) is not None]
        at = 0
        while at < len(names):
            end = min(at + STEP, len(names))
            self._looked_at += end - at
            yield match_names(names, at, end, patterns)
            at = end


def _octets(subject: str) -> bytes:
    return subject.encode("utf-8", "surrogateescape")
