"""Selections: the sequences that some filters match, in the cheapest form that answers in O(log n).

All of them answer the questions of `Sequences`. A `FilterView` remembers what a set of filters matches while
messages come and go. Making one takes time, and is done in steps (`work`).
"""

from collections.abc import Iterable, Iterator, Sequence
from heapq import merge
from typing import Protocol

from ..protocol.subject import ANY_REST, has_wildcard, tokens_match
from .sequences import CHUNK, Sequences

SubjectSeqs = int | Sequences  # the sequences of one subject: its only one, or all


def count_of(seqs: SubjectSeqs) -> int:
    """Return how many sequences a subject has."""
    return 1 if isinstance(seqs, int) else seqs.count


def last_before(seqs: SubjectSeqs, up_to: int) -> int:
    """Return the last sequence of a subject that is not above `up_to`, 0 if there is none."""
    if isinstance(seqs, int):
        return seqs if seqs <= up_to else 0
    return seqs.at_or_before(up_to)


class Selection(Protocol):
    """Some of a store's sequences."""

    def at_or_after(self, seq: int) -> int:
        """Return the smallest that is not below `seq`, 0 if there is none."""
        ...

    def at_or_before(self, seq: int) -> int:
        """Return the greatest that is not above `seq`, 0 if there is none."""
        ...

    def count_from(self, seq: int) -> int:
        """Count those that are not below `seq`."""
        ...

    def between(self, low: int, high: int) -> Iterator[int]:
        """Iterate over those from `low` to `high`, both included. Nothing may change meanwhile."""
        ...


class FewSubjects:
    """The sequences of a few subjects."""

    __slots__ = ("_many", "_single")

    def __init__(self, seqs: Iterable[SubjectSeqs]) -> None:
        self._single: list[int] = []
        self._many: list[Sequences] = []
        for one in seqs:
            if isinstance(one, int):
                self._single.append(one)
            else:
                self._many.append(one)

    def at_or_after(self, seq: int) -> int:
        """See `Selection`."""
        found = [one for one in self._single if one >= seq]
        found += [one for many in self._many if (one := many.at_or_after(seq))]
        return min(found, default=0)

    def at_or_before(self, seq: int) -> int:
        """See `Selection`."""
        found = [one for one in self._single if one <= seq]
        found += [many.at_or_before(seq) for many in self._many]
        return max(found, default=0)

    def count_from(self, seq: int) -> int:
        """See `Selection`."""
        return sum([one >= seq for one in self._single]) + sum([one.count_from(seq) for one in self._many])

    def between(self, low: int, high: int) -> Iterator[int]:
        """See `Selection`."""
        single = sorted([one for one in self._single if low <= one <= high])
        return merge(single, *[many.between(low, high) for many in self._many])


class AllButSubjects:
    """All sequences except those of a few subjects with a few messages."""

    __slots__ = ("_live", "_without")

    def __init__(self, live: Sequences, without: Iterable[SubjectSeqs]) -> None:
        self._live = live
        self._without = FewSubjects(without)

    def at_or_after(self, seq: int) -> int:
        """See `Selection`."""
        without = self._without
        while (found := self._live.at_or_after(seq)) and without.at_or_after(found) == found:
            seq = found + 1
        return found

    def at_or_before(self, seq: int) -> int:
        """See `Selection`."""
        without = self._without
        while (found := self._live.at_or_before(seq)) and without.at_or_before(found) == found:
            seq = found - 1
        return found

    def count_from(self, seq: int) -> int:
        """See `Selection`."""
        return self._live.count_from(seq) - self._without.count_from(seq)

    def between(self, low: int, high: int) -> Iterator[int]:
        """See `Selection`."""
        without = self._without.between(low, high)
        passed_by = next(without, 0)
        for seq in self._live.between(low, high):
            if seq == passed_by:
                passed_by = next(without, 0)
            else:
                yield seq


class FilterView:
    """The subjects that one of `filters` matches, with their sequences.

    One of these is known: `ids`, `others` or `merged`. If none is, `work` must be finished first. Otherwise
    `work` may go on while the view is used.

    ids: the ids of the subjects, as long as they are few.
    others: the ids of the subjects that do not match, as long as these are few.
    merged: the sequences.
    subjects: how many subjects match.
    work: the remaining steps of making the view, None if there are none.
    gathering: the sequences collected by `work` so far.
    """

    __slots__ = (
        "_literals",
        "_patterns",
        "filters",
        "gathering",
        "ids",
        "merged",
        "others",
        "subjects",
        "work",
    )

    def __init__(self, filters: tuple[str, ...]) -> None:
        self.filters = filters
        self._literals = {one for one in filters if not has_wildcard(one)}
        self._patterns = [one.split(".") for one in filters if one not in self._literals]
        self.ids: set[int] | None = None
        self.others: set[int] | None = None
        self.merged: Sequences | None = None
        self.gathering: SequenceGather | None = None
        self.subjects = 0
        self.work: Iterator[None] | None = None

    @property
    def known(self) -> bool:
        """Whether the view can be used."""
        return self.ids is not None or self.others is not None or self.merged is not None

    def takes(self, subject: str, tokens: list[str]) -> bool:
        """Return whether one of the filters matches `subject`, which has these tokens."""
        if subject in self._literals:
            return True
        return any(
            pattern[0] == ANY_REST or tokens_match(pattern, tokens)
            for pattern in self._patterns
            if pattern[0] in {tokens[0], "*", ANY_REST}
        )

    def append(self, seq: int) -> None:
        """Add a new message of a matching subject."""
        if self.merged is not None:
            self.merged.append(seq)
        if self.gathering is not None:
            self.gathering.append(seq)

    def extend(self, seqs: Sequence[int]) -> None:
        """Add new messages of matching subjects."""
        if self.merged is not None:
            self.merged.extend(seqs)
        if self.gathering is not None:
            self.gathering.extend(seqs)

    def discard(self, seq: int) -> None:
        """Remove a message of a matching subject."""
        if self.merged is not None:
            self.merged.discard(seq)
        if self.gathering is not None:
            self.gathering.gone.append(seq)

    def drop_before(self, seq: int) -> None:
        """Remove all messages below `seq`."""
        if self.merged is not None:
            self.merged.drop_before(seq)
        if self.gathering is not None:
            self.gathering.floor = max(self.gathering.floor, seq)

    def finish_gathering(self, merged: Sequences) -> None:
        """Switch to the sequences in `merged`, which are complete."""
        self.merged = merged
        self.ids = self.others = self.gathering = None


class SequenceGather:
    """Sequences on their way into one sorted set, while messages come and go.

    gone: the sequences that were removed meanwhile.
    floor: the sequence below which all were removed meanwhile.
    """

    __slots__ = ("_base", "_buckets", "_late", "floor", "gone")

    def __init__(self, base: int) -> None:
        self._base = base
        self._buckets: dict[int, list[int]] = {}
        self._late: Sequences | None = None  # sequences that were added after the sorting began
        self.gone: list[int] = []
        self.floor = 0

    def append(self, seq: int) -> None:
        """Add a new message."""
        if self._late is not None:
            self._late.append(seq)
        else:
            self.take((seq,))

    def extend(self, seqs: Sequence[int]) -> None:
        """Add new messages."""
        if self._late is not None:
            self._late.extend(seqs)
        else:
            self.take(seqs)

    def take(self, seqs: Iterable[int]) -> None:
        """Add existing sequences, in any order."""
        base, buckets = self._base, self._buckets
        for seq in seqs:
            chunk = (seq - base) // CHUNK
            bucket = buckets.get(chunk)
            if bucket is None:
                buckets[chunk] = [seq]
            else:
                bucket.append(seq)

    def finish(self, into: Sequences) -> Iterator[None]:
        """Sort everything into `into`, in steps. It is complete only when the iterator ends."""
        late = self._late = Sequences()
        gone, size = self.gone, 0
        for chunk in sorted(self._buckets):
            bucket = self._buckets.pop(chunk)
            bucket.sort()
            into.extend(bucket)
            size += len(bucket) + 8
            if size >= CHUNK:
                size = 0
                yield
        while late.count or gone:
            if late.count:
                into.extend([late.pop_first() for _ in range(min(late.count, CHUNK))])
            else:
                for _ in range(min(len(gone), CHUNK // 8)):
                    into.discard(gone.pop())
            yield
        into.drop_before(self.floor)
