"""Which messages a store holds, by sequence and by subject.

Each subject has its sorted sequences, or one plain integer if it has a single message, as in key-value
buckets. Filters with wildcards, and sets of filters, have a `FilterView`. A view is made when it is first
needed and then kept up to date, so that `next_seq` and `count` cost O(log n) per call.

Promises: the cost of questions about subjects depends on those that match, not on all, but for the first few
filters (see `subject_scans`). What may take long is offered in steps of a millisecond or two (`preparing`,
`matching`), between which anything may be added and removed. After `preparing`, questions about these filters
are cheap. Nothing here knows where messages are.
"""

from array import array
from collections import OrderedDict
from collections.abc import Generator, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from ..native import add_sequences
from ..protocol.subject import has_wildcard
from . import views
from .ordered import PIECE, OrderedNames
from .sequences import Sequences
from .subject_scans import SubjectScans
from .views import AllButSubjects, FewSubjects, FilterView, Selection, SequenceGather, SubjectSeqs

MAX_VIEWS = 256  # distinct sets of filters remembered; the least recently used is forgotten first
FEW = 8  # subjects up to which their sequences are searched one by one
FEW_MESSAGES = 1024  # messages that a view skips one by one
STEP = 512  # subjects looked at in one step
_MANY = 16 * PIECE  # subjects from which on they are distributed to pieces before they are sorted
_MOST_PIECES = 8192  # pieces that they are distributed to
_SCATTER = 2_654_435_761  # 2**32 divided by the golden ratio: its multiples spread evenly
_AT_ONCE = 4096  # subjects entered in one call, during which no other thread can do anything
RELEASED = 8192  # objects freed in one step
_NO_VIEWS: tuple[FilterView, ...] = ()

Heap = list[Any] | dict[Any, Any]


def releasing(remains: list[Heap]) -> Generator[None, None, None]:
    """Free the memory of big lists and dicts in steps, because a million objects at once take long."""
    for heap in remains:
        while heap:
            if isinstance(heap, list):
                del heap[-RELEASED:]
            else:
                for _ in range(min(len(heap), RELEASED)):
                    heap.popitem()
            yield


class SubjectIndex:
    """The stored sequences, in all and by subject. A subject's id is valid while it has a message."""

    def __init__(self) -> None:
        self.live = Sequences()
        self.ids: dict[str, int] = {}
        self.names: list[str] = []
        self._by_number: list[SubjectSeqs] = []
        self._free: list[int] = []
        self._order = OrderedNames()
        self._ordered = 0  # the subjects with ids below this are in order
        self._scans = SubjectScans()
        self._views: OrderedDict[tuple[str, ...], FilterView] = OrderedDict()
        # The views that match each subject, by id; empty before the first view.
        self._groups: list[tuple[FilterView, ...]] = []
        self._wider: dict[tuple[tuple[FilterView, ...], FilterView], tuple[FilterView, ...]] = {}

    def add(self, subject: str, seq: int) -> int:
        """Add a message with a sequence greater than all others, and return the subject's id."""
        self.live.append(seq)
        number = self.ids.get(subject)
        if number is None:
            return self._add_subject(subject, seq)
        seqs = self._by_number[number]
        if isinstance(seqs, int):
            self._by_number[number] = Sequences((seqs, seq))
        else:
            seqs.append(seq)
        if self._views:
            for view in self._groups[number]:
                view.append(seq)
        return number

    def add_each(self, messages: Sequence[tuple[str, bytes, bytes]], seqs: "array[int]") -> "array[int]":
        """Add messages (subject, header, body), with these sequences. Return the subjects' ids."""
        numbers = array("I")
        start, count = 0, len(messages)
        new = Sequences, None if self._views or self._free else self.names
        while start < count:
            stop = add_sequences(self.ids, self._by_number, messages, start, seqs, numbers, *new)
            self.live.extend(seqs[start:stop])
            for place in range(start, stop) if self._views else ():
                for view in self._groups[numbers[place]]:
                    view.append(seqs[place])
            if stop < count:
                numbers.append(self.add(messages[stop][0], seqs[stop]))
            start = stop + 1
        return numbers

    def adopt(self, ids: dict[str, int], seqs: "list[int | array[int]]") -> None:
        """Take over the subjects of a recovered store, with ids from 0 on. The caller fills `live`.

        seqs: the sequences of each subject, or the only one, or 0. A subject with 0 is left out and its id
            is free.
        """
        self.ids = ids
        names, left = self.names, iter(ids)
        while part := list(islice(left, _AT_ONCE)):
            names += part
        self._by_number = [one if isinstance(one, int) else Sequences(one) for one in seqs]
        for number, one in enumerate(seqs) if not all(seqs) else ():
            if not one:
                del self.ids[names[number]]
                names[number] = ""
                self._free.append(number)

    def _add_subject(self, subject: str, seq: int) -> int:
        if self._free:
            number = self._free.pop()
            self.names[number] = subject
            self._by_number[number] = seq
            if number < self._ordered:
                self._order.add(subject)
        else:
            number = len(self.names)
            self.names.append(subject)
            self._by_number.append(seq)
            if self._views:
                self._groups.append(_NO_VIEWS)
        self.ids[subject] = number
        if self._views:
            self._introduce(number, subject, seq)
        return number

    def _introduce(self, number: int, subject: str, seq: int) -> None:
        """Add a new subject to the views that match it."""
        tokens = subject.split(".")
        for view in self._views.values():
            if view.takes(subject, tokens):
                self._attach(view, number)
                view.append(seq)
                if view.ids is not None:
                    view.ids.add(number)
            elif view.others is not None:
                view.others.add(number)

    def discard(self, number: int, seq: int) -> None:
        """Remove the message `seq` of the subject with this id."""
        self.live.discard(seq)
        if self._views:
            for view in self._groups[number]:
                view.discard(seq)
        seqs = self._by_number[number]
        if isinstance(seqs, int):
            self._drop_subject(number)
            return
        seqs.discard(seq)
        if not seqs.count:
            self._drop_subject(number)

    def drop_before(self, seq: int) -> None:
        """Remove all messages below `seq`. The time depends on the number of subjects, not of messages."""
        self.live.drop_before(seq)
        for view in self._views.values():
            view.drop_before(seq)
        for number in list(self.ids.values()):
            seqs = self._by_number[number]
            if isinstance(seqs, int):
                if seqs < seq:
                    self._drop_subject(number)
            elif seqs.first < seq:
                seqs.drop_before(seq)
                if not seqs.count:
                    self._drop_subject(number)

    def clear(self) -> list[Heap]:
        """Remove all messages in constant time, and return their objects, for `releasing`."""
        remains: list[Heap] = [self.ids, self.names, self._by_number, self._groups, *self._order.remains()]
        self.live = Sequences()
        self.ids, self.names, self._by_number, self._free = {}, [], [], []
        self._order, self._ordered, self._scans = OrderedNames(), 0, SubjectScans()
        for view in self._views.values():
            view.work = view.gathering = view.merged = None
        self._views.clear()
        self._wider.clear()
        self._groups = []
        return remains

    def _drop_subject(self, number: int) -> None:
        name = self.names[number]
        del self.ids[name]
        self.names[number] = ""
        self._by_number[number] = 0
        self._free.append(number)
        if number < self._ordered:
            self._order.remove(name)
        if self._views:
            for view in self._groups[number]:
                view.subjects -= 1
                if view.ids is not None:
                    view.ids.discard(number)
            self._groups[number] = _NO_VIEWS
            for view in self._views.values():
                if view.others:
                    view.others.discard(number)

    # -- views

    def _attach(self, view: FilterView, number: int) -> bool:
        """Let a view follow the messages of a subject. Return False if it does already."""
        group = self._groups[number]
        if view in group:
            return False
        # Subjects with the same views share one tuple.
        wider = self._wider.get((group, view))
        if wider is None:
            if len(self._wider) > STEP:
                self._wider.clear()
            alive = [one for one in group if self._views.get(one.filters) is one]
            wider = self._wider[group, view] = (*alive, view)
        self._groups[number] = wider
        view.subjects += 1
        return True

    def _view(self, filters: Sequence[str]) -> FilterView:
        """Return the view of these filters. Begin one if there is none."""
        key = tuple(filters)
        view = self._views.get(key)
        if view is not None:
            self._views.move_to_end(key)
            return view
        if not self._views:
            self._groups = [_NO_VIEWS] * len(self.names)
        view = self._views[key] = FilterView(key)
        # From now on the view gets new subjects.
        view.gathering = SequenceGather(self.live.first)
        view.work = self._make(view)
        if len(self._views) > MAX_VIEWS:
            _, oldest = self._views.popitem(last=False)
            oldest.work = oldest.gathering = oldest.merged = None
            self._wider.clear()
        return view

    def _advance(self, view: FilterView) -> None:
        """Do one step of a view's work."""
        if view.work is not None and next(view.work, self) is self:
            view.work = None

    def _make(self, view: FilterView) -> Iterator[None]:
        """Find out what a new view matches, and gather sequences only if that is neither little nor all."""
        gathering = view.gathering
        assert gathering is not None
        found: list[tuple[array[int], int]] = []  # ids, and the sequence after which the view gets them
        for numbers in self._numbers(view.filters):
            attached = array("Q", [number for number in numbers if self._attach(view, number)])
            if attached:
                found.append((attached, self.live.last))
            yield
        few = {number for ids, _ in found[: FEW + 1] for number in ids if view in self._groups[number]}
        if len(few) <= FEW and view.subjects == len(few):  # and no subject came meanwhile
            view.ids, view.gathering = few, None
        elif view.subjects == len(self.ids):
            view.others, view.gathering = set(), None
        else:
            for ids, bound in found:
                yield from self._gather(view, ids, bound)
                yield
            yield from self._merge(view, gathering)

    def _remake(self, view: FilterView) -> Iterator[None]:
        """Merge the sequences of a view, which can be used in its other form meanwhile."""
        bound = self.live.last
        gathering = view.gathering = SequenceGather(self.live.first)
        if view.ids is not None:
            yield from self._gather(view, list(view.ids), bound)
        else:
            for numbers in self._numbers(view.filters):
                yield from self._gather(view, numbers, bound)
                yield
        yield from self._merge(view, gathering)

    def _merge(self, view: FilterView, gathering: SequenceGather) -> Iterator[None]:
        merged = Sequences()
        yield from gathering.finish(merged)
        view.finish_gathering(merged)

    def _gather(self, view: FilterView, numbers: Sequence[int], bound: int) -> Iterator[None]:
        """Gather the sequences of these subjects up to `bound`, the last sequence now or an earlier one."""
        gathering = view.gathering
        assert gathering is not None
        single: list[int] = []
        many: list[int] = []
        for number in numbers:
            seqs = self._by_number[number]
            if not isinstance(seqs, int):
                many.append(number)
            elif 0 < seqs <= bound:
                single.append(seqs)
        gathering.take(single)
        size = len(numbers)
        for number in many:
            after = 0
            while view in self._groups[number] and isinstance(seqs := self._by_number[number], Sequences):
                page = list(islice(seqs.between(after + 1, bound), 4 * STEP))
                gathering.take(page)
                size += len(page)
                if len(page) < 4 * STEP:
                    break
                after = page[-1]
                if size > 4 * STEP:
                    size = 0
                    yield

    def _select(self, filters: Sequence[str]) -> Selection:
        """Return the sequences that these filters match."""
        if not filters or ">" in filters:
            return self.live
        if len(filters) == 1 and not has_wildcard(filters[0]):
            number = self.ids.get(filters[0])
            if number is None:
                return FewSubjects(())
            seqs = self._by_number[number]
            return seqs if isinstance(seqs, Sequences) else FewSubjects((seqs,))
        view = self._view(filters)
        self._advance(view)
        while not view.known:
            self._advance(view)
        if view.merged is not None:
            return view.merged
        if view.ids is not None:
            if len(view.ids) > FEW and view.work is None:
                view.work = self._remake(view)
            return FewSubjects([self._by_number[number] for number in view.ids])
        assert view.others is not None
        if not view.others:
            return self.live
        without = [self._by_number[number] for number in view.others]
        if view.work is None and (len(without) > FEW or sum(map(views.count_of, without)) > FEW_MESSAGES):
            view.work = self._remake(view)
        return AllButSubjects(self.live, without)

    # -- steps

    def preparing(self, filters: Sequence[str]) -> Iterator[None]:
        """Prepare for questions about these filters, in steps."""
        if not filters or ">" in filters or (len(filters) == 1 and not has_wildcard(filters[0])):
            return
        view = self._view(filters)
        if len(filters) > STEP:
            yield
        while view.work is not None and not view.known:
            self._advance(view)
            yield

    def _ordering(self) -> Iterator[None]:
        """Sort in the subjects that were added since the last wildcard, in steps."""
        if not self._ordered and len(self.names) > _MANY:
            self._order.expect(filter(None, _sample(self.names)))
        while self._ordered < len(self.names):
            start = self._ordered
            self._ordered = end = min(start + STEP, len(self.names))
            self._order.extend(filter(None, self.names[start:end]))
            yield

    def _numbers(self, filters: Sequence[str]) -> Iterator[list[int]]:
        """List the ids of the matching subjects, some at a time, each once."""
        if self._scans.cheaper(filters, len(self.names), self._ordered):
            yield from self._scans.matching(filters, self.names, self.ids)
            return
        for names in self.matching(filters):
            yield [number for name in names if (number := self.ids.get(name)) is not None]

    def matching(self, filters: Sequence[str]) -> Iterator[list[str]]:
        """List the matching subjects, a page at a time, each once, and in order for each filter.

        Without a filter all subjects are listed, in no order.
        """
        if not filters:
            for start in range(0, len(self.names), STEP):
                yield list(filter(None, self.names[start : start + STEP]))
            return
        if ">" in filters:
            filters = (">",)
        literals = [one for one in dict.fromkeys(filters) if not has_wildcard(one)]
        for start in range(0, len(literals), STEP):
            yield [name for name in literals[start : start + STEP] if name in self.ids]
        if len(filters) > STEP:
            yield []
        patterns = [one for one in dict.fromkeys(filters) if has_wildcard(one)]
        if not patterns:
            return
        if len(filters) > STEP:
            yield []
        yield from ([] for _ in self._ordering())
        seen = set(literals) if len(filters) > 1 else None
        for pattern in patterns:
            begin = ""
            while True:
                names, begin = self._order.page(pattern, begin, STEP)
                if seen is not None:
                    names = [name for name in names if name not in seen]
                    seen.update(names)
                yield names
                if not begin:
                    break

    # -- questions

    def next_seq(self, filters: Sequence[str], from_seq: int) -> int:
        """Return the first sequence from `from_seq` on that the filters match, 0 if there is none."""
        return (self._select(filters) if filters else self.live).at_or_after(from_seq)

    def run(self, filters: Sequence[str], from_seq: int, up_to: int, most: int) -> list[int]:
        """Return the first sequences, at most `most`, from `from_seq` to `up_to` that the filters match."""
        return list(islice(self._select(filters).between(from_seq, up_to), most))

    def last_seq(self, filters: Sequence[str], up_to: int) -> int:
        """Return the last sequence not above `up_to` that the filters match, 0 if there is none."""
        return self._select(filters).at_or_before(up_to)

    def count(self, filters: Sequence[str], from_seq: int) -> int:
        """Count the messages from `from_seq` on that the filters match."""
        return (self._select(filters) if filters else self.live).count_from(from_seq)

    def newest(self, filters: Sequence[str], count: int) -> int:
        """Return the first of the `count` newest messages that the filters match, 0 if there are no more."""
        found = self._select(filters)
        low, high = 0, self.live.last + 1  # more than `count` from `low` on, but not from `high` on
        if found.count_from(0) <= count:
            return 0
        while high - low > 1:
            middle = (low + high) // 2
            if found.count_from(middle) > count:
                low = middle
            else:
                high = middle
        return high

    def seqs(self, filters: Sequence[str], low: int, high: int) -> list[int]:
        """Return the sequences from `low` to `high`, both included, that the filters match."""
        return list(self._select(filters).between(low, high))

    def subjects(self, filter_: str) -> dict[str, int]:
        """Return the number of messages of each matching subject."""
        filters = () if filter_ == ">" else (filter_,)
        return {name: self.subject_count(name) for names in self.matching(filters) for name in names}

    def subject_count(self, subject: str) -> int:
        """Count the messages of a subject."""
        number = self.ids.get(subject)
        if number is None:
            return 0
        seqs = self._by_number[number]
        return 1 if isinstance(seqs, int) else seqs.count

    def subject_first(self, subject: str) -> int:
        """Return the first sequence of a subject, or 0."""
        number = self.ids.get(subject)
        if number is None:
            return 0
        seqs = self._by_number[number]
        return seqs if isinstance(seqs, int) else seqs.first

    def subject_last(self, subject: str) -> int:
        """Return the last sequence of a subject, or 0."""
        number = self.ids.get(subject)
        if number is None:
            return 0
        seqs = self._by_number[number]
        return seqs if isinstance(seqs, int) else seqs.last

    def last_per_subject(self, filters: Sequence[str], up_to: int) -> list[int]:
        """Return the last sequence not above `up_to` of each matching subject, ascending."""
        found: list[int] = []
        for names in self.matching(filters):
            found += self.lasts(names, up_to)
        found.sort()
        return found

    def picking(self, filters: Sequence[str], up_to: int) -> Generator[None, None, Sequences]:
        """Like `last_per_subject`, in steps. May include messages that are removed meanwhile."""
        gathering, found = SequenceGather(self.live.first), Sequences()
        for names in self.matching(() if ">" in filters else filters):
            gathering.take(self.lasts(names, up_to))
            yield
        yield from gathering.finish(found)
        return found

    def lasts(self, names: Iterable[str], up_to: int) -> list[int]:
        """Return the last sequence not above `up_to` of each of these subjects that has one."""
        seqs = [self._by_number[number] for name in names if (number := self.ids.get(name)) is not None]
        return [seq for one in seqs if (seq := views.last_before(one, up_to))]


def _sample(names: list[str]) -> list[str]:
    """Return names from all over. Even steps would hit the same names where these repeat evenly."""
    size = len(names)
    return [names[n * _SCATTER % size] for n in range(min(size // (PIECE // 2), _MOST_PIECES))]
