"""Proposals: what became of each one. Each is answered once: when it is applied, lost, or undecidable."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from ...protocol.lazy_dataclass import dataclass
from ...raft import Entry, RawNode


class ProposalError(Exception):
    """A proposal was lost, or its outcome is unknown."""


class ProposalLostError(ProposalError):
    """Nothing of the proposal was or ever will be committed."""


class ProposalUnknownError(ProposalError):
    """All, some or nothing of the proposal may have been committed, or may still be."""


Outcome = int | ProposalError
Done = Callable[[Outcome], None]


@dataclass(slots=True)
class _Waiting:
    """A proposal without an answer.

    first, last: the indexes of its entries, proposed in `term`.
    ticks_left: ticks left before it is given up, counted once its leader no longer leads.
    """

    first: int
    last: int
    term: int
    done: Done
    ticks_left: int = 0


class Proposals:
    """The proposals of one member that are under way.

    doubt_ticks: ticks after the end of a leadership before a proposal counts as unknown.
    asked: those of this turn of the loop, not handed in yet, as (entries, callback).
    """

    def __init__(self, doubt_ticks: int) -> None:
        self._doubt_ticks = doubt_ticks
        self.asked: list[tuple[Sequence[bytes], Done]] = []
        self._current: deque[_Waiting] = deque()  # those of the present leadership, in order
        self._doubtful: list[_Waiting] = []

    def __len__(self) -> int:
        return len(self.asked) + len(self._current) + len(self._doubtful)

    def ask(self, data: Sequence[bytes], done: Done) -> None:
        """Take a proposal, to be handed in together with the others of this turn."""
        self.asked.append((data, done))

    def hand_in(self, node: RawNode, refusal: Callable[[], Outcome]) -> None:
        """Have the member propose what was asked. If it does not lead, the answer is `refusal`."""
        asked, self.asked = self.asked, []
        if not node.accepts_proposals:
            for _, done in asked:
                done(refusal())
            return
        first, term = node.propose([entry for data, _ in asked for entry in data])
        for data, done in asked:
            last = first + len(data) - 1
            self.add(first, last, term, done)
            first = last + 1

    def refuse(self, why: str) -> None:
        """Answer all, because the member ends: what was not handed in is lost, the rest unknown."""
        asked, self.asked = self.asked, []
        for _, done in asked:
            done(ProposalLostError(why))
        self.fail(why)

    def add(self, first: int, last: int, term: int, done: Done) -> None:
        """Wait for the entries `first` to `last`, proposed in `term`, and call `done` with the outcome."""
        self._current.append(_Waiting(first, last, term, done, self._doubt_ticks))

    def applied(self, first: int, entries: Sequence[Entry]) -> None:
        """Answer the proposals that are decided now that `entries`, from index `first` on, are applied."""
        if not self._current and not self._doubtful:
            return
        end = first + len(entries)
        while self._current and self._current[0].last < end:
            waiting = self._current.popleft()
            if not _resolve(waiting, first, entries):
                self._doubtful.append(waiting)
        if self._doubtful:
            self._doubtful = [w for w in self._doubtful if not _resolve(w, first, entries)]

    def jumped(self, index: int) -> None:
        """Answer those in doubt that a snapshot up to `index` took the place of."""
        gone = [w for w in self._doubtful if w.first <= index]
        self._doubtful = [w for w in self._doubtful if w.first > index]
        for waiting in gone:
            waiting.done(ProposalUnknownError("a snapshot came instead of it"))

    def leadership_lost(self) -> None:
        """Treat all proposals under way as doubtful, because this member no longer leads."""
        self._doubtful.extend(self._current)
        self._current.clear()

    def tick(self) -> None:
        """Count a tick, and answer those that have none left."""
        if not self._doubtful:
            return
        for waiting in self._doubtful:
            waiting.ticks_left -= 1
        given_up = [w for w in self._doubtful if w.ticks_left <= 0]
        self._doubtful = [w for w in self._doubtful if w.ticks_left > 0]
        for waiting in given_up:
            waiting.done(ProposalUnknownError("the leadership was lost before it was committed"))

    def fail(self, why: str) -> None:
        """Answer all as unknown, because this member will not learn their outcome."""
        self.leadership_lost()
        doubtful, self._doubtful = self._doubtful, []
        for waiting in doubtful:
            waiting.done(ProposalUnknownError(why))


def _resolve(waiting: _Waiting, first: int, entries: Sequence[Entry]) -> bool:
    """Answer a proposal if these entries decide it, and return whether they did."""
    end = first + len(entries)
    if first <= waiting.first < end and entries[waiting.first - first].term != waiting.term:
        waiting.done(ProposalLostError("another leader's entry took its place"))
        return True
    if not first <= waiting.last < end:
        return False
    if entries[waiting.last - first].term == waiting.term:
        waiting.done(waiting.last)
    else:
        waiting.done(ProposalUnknownError("a part of it was committed"))
    return True
