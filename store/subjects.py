"""Which messages a store holds, by sequence and by subject.

For each subject its sorted sequences (one plain integer for a subject with one message, as in key-value
buckets); for filters with wildcards, and for several filters, a `View`: the set of subjects matched, and,
when they are many, the merged sequences. Views are made when first asked for and then kept up to date, so
that `next_seq` and `count` cost O(log n) per call. Nothing here knows where messages are kept.
"""

from array import array
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice

from ..protocol.subject import has_wildcard, matches
from .sequences import Sequences

MAX_VIEWS = 256  # distinct sets of filters remembered; the one longest unused is forgotten first
MERGE_ABOVE = 8  # a view of more subjects than this keeps its sequences merged


class View:
    """The subjects that one of `filters` matches."""

    __slots__ = ("filters", "ids", "merged")

    def __init__(self, filters: tuple[str, ...]) -> None:
        self.filters = filters
        self.ids: set[int] = set()
        self.merged: Sequences | None = None

    def takes(self, subject: str) -> bool:
        """Tell whether one of the filters matches `subject`."""
        return any(matches(pattern, subject) for pattern in self.filters)


class SubjectIndex:
    """The sequences held, in all and by subject. A subject's id is valid while it has a message."""

    def __init__(self) -> None:
        self.live = Sequences()
        self.ids: dict[str, int] = {}
        self.names: list[str] = []
        self._held: list[int | Sequences] = []
        self._free: list[int] = []
        self._views: OrderedDict[tuple[str, ...], View] = OrderedDict()
        self._views_of: dict[int, list[View]] = {}

    def add(self, subject: str, seq: int) -> int:
        """Note a new message, greater in sequence than all others; return the subject's id."""
        self.live.append(seq)
        number = self.ids.get(subject)
        if number is None:
            return self._add_subject(subject, seq)
        held = self._held[number]
        if isinstance(held, int):
            self._held[number] = Sequences((held, seq))
        else:
            held.append(seq)
        if self._views_of:
            for view in self._views_of.get(number, ()):
                if view.merged is not None:
                    view.merged.append(seq)
        return number

    def add_run(self, subject: str, first: int, count: int) -> int:
        """Note `count` new messages of one subject with consecutive sequences, as `add` for each."""
        number = self.add(subject, first)
        if count > 1:
            more = array("Q", range(first + 1, first + count))
            self.live.extend(more)
            held = self._held[number]
            if isinstance(held, int):
                held = self._held[number] = Sequences((held,))
            held.extend(more)
            for view in self._views_of.get(number, ()):
                if view.merged is not None:
                    view.merged.extend(more)
        return number

    def adopt(self, names: list[str], held: "list[int | array[int]]") -> None:
        """Take over the subjects of a recovered store, whose ids are their places; the caller fills `live`.

        held: of each subject its sequences, or the only one, or 0. A subject without sequences is none: its
        id is free.
        """
        self.names = names
        self.ids = dict(zip(names, range(len(names)), strict=True))
        self._held = [one if isinstance(one, int) else Sequences(one) for one in held]
        for number, one in enumerate(held) if not all(held) else ():
            if not one:
                del self.ids[names[number]]
                names[number] = ""
                self._free.append(number)

    def _add_subject(self, subject: str, seq: int) -> int:
        if self._free:
            number = self._free.pop()
            self.names[number] = subject
            self._held[number] = seq
        else:
            number = len(self.names)
            self.names.append(subject)
            self._held.append(seq)
        self.ids[subject] = number
        for view in self._views.values():
            if view.takes(subject):
                self._attach(view, number)
                if view.merged is not None:
                    view.merged.append(seq)
        return number

    def discard(self, number: int, seq: int) -> None:
        """Forget the message `seq` of the subject with this id."""
        self.live.discard(seq)
        for view in self._views_of.get(number, ()):
            if view.merged is not None:
                view.merged.discard(seq)
        held = self._held[number]
        if isinstance(held, int):
            self._drop_subject(number)
            return
        held.discard(seq)
        if not held.count:
            self._drop_subject(number)

    def drop_before(self, seq: int) -> None:
        """Forget all messages below `seq`; costs time by the number of subjects, not of messages."""
        self.live.drop_before(seq)
        for view in self._views.values():
            if view.merged is not None:
                view.merged.drop_before(seq)
        for number in list(self.ids.values()):
            held = self._held[number]
            if isinstance(held, int):
                if held < seq:
                    self._drop_subject(number)
            elif held.first < seq:
                held.drop_before(seq)
                if not held.count:
                    self._drop_subject(number)

    def _drop_subject(self, number: int) -> None:
        del self.ids[self.names[number]]
        self.names[number] = ""
        self._held[number] = 0
        self._free.append(number)
        for view in self._views_of.pop(number, ()):
            view.ids.discard(number)

    # -- views

    def _attach(self, view: View, number: int) -> None:
        view.ids.add(number)
        self._views_of.setdefault(number, []).append(view)

    def _view(self, filters: Sequence[str]) -> View:
        key = tuple(filters)
        view = self._views.get(key)
        if view is not None:
            self._views.move_to_end(key)
            return view
        view = View(key)
        for subject in self._matching(key):
            self._attach(view, self.ids[subject])
        self._views[key] = view
        if len(self._views) > MAX_VIEWS:
            _, oldest = self._views.popitem(last=False)
            for number in oldest.ids:
                attached = self._views_of[number]
                attached.remove(oldest)
                if not attached:
                    del self._views_of[number]
        return view

    def _matching(self, filters: Iterable[str]) -> Iterator[str]:
        filters = set(filters)
        literals = {pattern for pattern in filters if not has_wildcard(pattern)}
        patterns = filters - literals
        if ">" in patterns:
            yield from self.ids
            return
        for subject in literals:
            if subject in self.ids and not any(matches(pattern, subject) for pattern in patterns):
                yield subject
        if patterns:
            for subject in self.ids:
                for pattern in patterns:
                    if matches(pattern, subject):
                        yield subject
                        break

    def _select(self, filters: Sequence[str]) -> "Sequences | tuple[int | Sequences, ...]":
        """Find what holds the sequences of these filters: one sorted set, or a few."""
        if not filters or ">" in filters:
            return self.live
        if len(filters) == 1 and not has_wildcard(filters[0]):
            number = self.ids.get(filters[0])
            if number is None:
                return ()
            held = self._held[number]
            return held if isinstance(held, Sequences) else (held,)
        view = self._view(filters)
        if len(view.ids) == len(self.ids):
            return self.live
        if view.merged is None:
            if len(view.ids) <= MERGE_ABOVE:
                return tuple([self._held[number] for number in view.ids])
            view.merged = Sequences(sorted(chain.from_iterable(self._of(number) for number in view.ids)))
        return view.merged

    def _of(self, number: int) -> Iterable[int]:
        held = self._held[number]
        return (held,) if isinstance(held, int) else held

    # -- questions

    def next_seq(self, filters: Sequence[str], from_seq: int) -> int:
        """Find the first sequence at or after `from_seq` that the filters match; 0 if there is none."""
        found = self._select(filters)
        if isinstance(found, Sequences):
            return found.at_or_after(from_seq)
        best = 0
        for held in found:
            seq = (held if held >= from_seq else 0) if isinstance(held, int) else held.at_or_after(from_seq)
            if seq and (not best or seq < best):
                best = seq
        return best

    def run(self, filters: Sequence[str], from_seq: int, up_to: int, most: int) -> list[int]:
        """List the first sequences, at most `most`, from `from_seq` to `up_to` that the filters match."""
        found = self._select(filters)
        if isinstance(found, Sequences):
            return list(islice(found.between(from_seq, up_to), most))
        result: list[int] = []
        while len(result) < most and 0 < (seq := self.next_seq(filters, from_seq)) <= up_to:
            result.append(seq)
            from_seq = seq + 1
        return result

    def last_seq(self, filters: Sequence[str], up_to: int) -> int:
        """Find the last sequence not above `up_to` that the filters match; 0 if there is none."""
        found = self._select(filters)
        if isinstance(found, Sequences):
            return found.at_or_before(up_to)
        return max((_before(held, up_to) for held in found), default=0)

    def count(self, filters: Sequence[str], from_seq: int) -> int:
        """Count the messages at or after `from_seq` that the filters match."""
        found = self._select(filters)
        if isinstance(found, Sequences):
            return found.count_from(from_seq)
        return sum(
            int(held >= from_seq) if isinstance(held, int) else held.count_from(from_seq) for held in found
        )

    def seqs(self, filters: Sequence[str], low: int, high: int) -> list[int]:
        """List the sequences from `low` to `high`, both included, that the filters match."""
        found = self._select(filters)
        if isinstance(found, Sequences):
            return list(found.between(low, high))
        result: list[int] = []
        for held in found:
            if isinstance(held, Sequences):
                result.extend(held.between(low, high))
            elif low <= held <= high:
                result.append(held)
        result.sort()
        return result

    def subjects(self, filter_: str) -> dict[str, int]:
        """Give the number of messages of each subject matched."""
        return {subject: self.subject_count(subject) for subject in self._matching((filter_,))}

    def subject_count(self, subject: str) -> int:
        """Count the messages of a subject."""
        number = self.ids.get(subject)
        if number is None:
            return 0
        held = self._held[number]
        return 1 if isinstance(held, int) else held.count

    def subject_first(self, subject: str) -> int:
        """Give the first sequence of a subject, or 0."""
        number = self.ids.get(subject)
        if number is None:
            return 0
        held = self._held[number]
        return held if isinstance(held, int) else held.first

    def subject_last(self, subject: str) -> int:
        """Give the last sequence of a subject, or 0."""
        number = self.ids.get(subject)
        if number is None:
            return 0
        held = self._held[number]
        return held if isinstance(held, int) else held.last

    def last_per_subject(self, filters: Sequence[str], up_to: int) -> list[int]:
        """Give the last sequence not above `up_to` of each subject matched, ascending."""
        everything = not filters or ">" in filters
        numbers = self.ids.values() if everything else self._view(filters).ids
        found = [_before(self._held[number], up_to) for number in numbers]
        return sorted(filter(None, found))


def _before(held: int | Sequences, up_to: int) -> int:
    if isinstance(held, int):
        return held if held <= up_to else 0
    return held.at_or_before(up_to)
