"""What the stream stores share: all questions that the index answers, and the deletions that build on them.

A store that derives from `IndexedStream` keeps the messages themselves (`_load`, `_forget`, `_forget_before`)
and the figures (`bytes`, `last_seq`, `last_time`). With them this class keeps the promises of
`stream.StreamStore`.
"""

from array import array
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from operator import ge

from ..protocol.subject import has_wildcard
from .errors import Damaged, NotFound
from .message import StoredMessage
from .sequences import Sequences
from .subjects import Heap, SubjectIndex, releasing

STEP = 512  # messages removed in one step
MOST_NAMED = 1 << 17  # lost sequences that are named at most, the newest


class IndexedStream:
    """The part of a `StreamStore` that knows sequences and subjects, but not where messages are kept."""

    def __init__(self) -> None:
        self._index = SubjectIndex()
        self.bytes = 0
        self.last_seq = 0
        self.last_time = 0
        self.note = b""
        self._lost: dict[int, str] = {}  # sequence -> where the damage is

    # -- what a store must provide

    def _load(self, seq: int) -> StoredMessage:
        """Read a live message. If it is damaged, remove it from the index and raise Damaged."""
        raise NotImplementedError

    def _time_of(self, seq: int) -> int:
        """Return the time of a live message, in ns."""
        raise NotImplementedError

    def _forget(self, seq: int, *, erase: bool) -> tuple[str, int]:
        """Delete a live message, including its part in index and figures. Return its subject and bytes."""
        raise NotImplementedError

    def _forget_before(self, seq: int) -> None:
        """Delete all messages below `seq`, including their part in index and figures."""
        raise NotImplementedError

    def _forget_all_but(self, kept: list[int]) -> list[Heap]:
        """Delete all messages but these, the newest, in constant time. Return what must be released."""
        raise NotImplementedError

    def _is_cheap(self, seq: int) -> bool:
        """Return whether `_forget_before` takes at most a few milliseconds."""
        raise NotImplementedError

    def _subject_of(self, seq: int) -> str:
        """Return the subject of a live message."""
        raise NotImplementedError

    def skip_to(self, last_seq: int) -> None:
        """Consume the sequences up to `last_seq` without a message."""
        raise NotImplementedError

    def mark_used(self, last_seq: int) -> None:
        """Consume sequences that are known to have been used, and report their messages as lost."""
        first = max(self.last_seq, last_seq - MOST_NAMED) + 1
        self._lost.update(dict.fromkeys(range(first, last_seq + 1), "known to others only"))
        self.skip_to(last_seq)

    def _check_open(self) -> None:
        """Raise StoreClosed or StoreFailed if the store takes nothing more."""
        raise NotImplementedError

    def abandon(self) -> None:
        """Drop everything without committing."""
        raise NotImplementedError

    # -- figures

    @property
    def messages(self) -> int:
        """The number of messages in the store."""
        return self._index.live.count

    @property
    def first_seq(self) -> int:
        """The sequence of the first message; `last_seq + 1` if there is none, 0 if never used."""
        live = self._index.live
        if live.count:
            return live.first
        return self.last_seq + 1 if self.last_seq else 0

    @property
    def first_time(self) -> int:
        """The time of the first message in ns; 0 if there is none."""
        live = self._index.live
        return self._time_of(live.first) if live.count else 0

    @property
    def num_deleted(self) -> int:
        """The number of sequences between the first and the last one that have no message."""
        live = self._index.live
        return self.last_seq - live.first + 1 - live.count if live.count else 0

    @property
    def num_subjects(self) -> int:
        """The number of subjects that have a message."""
        return len(self._index.ids)

    # -- reading

    def get(self, seq: int) -> StoredMessage:
        """Read a message. Raises NotFound and Damaged."""
        if seq in self._index.live:
            return self._load(seq)
        if seq in self._lost:
            raise Damaged(seq, self._lost[seq])
        raise NotFound(seq)

    def subject_of(self, seq: int) -> str:
        """Return the subject of a message without reading it. Raises NotFound."""
        if seq not in self._index.live:
            raise NotFound(seq)
        return self._subject_of(seq)

    def next(self, filters: Sequence[str], from_seq: int) -> StoredMessage | None:
        """Return the first message from `from_seq` on that the filters match, None if there is none."""
        while seq := self._index.next_seq(filters, from_seq):
            try:
                return self._load(seq)
            except Damaged:
                from_seq = seq + 1
        return None

    def next_run(
        self, filters: Sequence[str], from_seq: int, up_to: int, most: int, size: int
    ) -> list[StoredMessage]:
        """Return the messages from `from_seq` to `up_to` that the filters match.

        There are at most `most` of them, and no more once their bodies make `size` bytes. Ends before the
        first damaged one.
        """
        found: list[StoredMessage] = []
        with suppress(Damaged):
            self._load_run(self._index.run(filters, from_seq, up_to, most), size, found)
        return found

    def _load_run(self, seqs: Sequence[int], size: int, found: list[StoredMessage]) -> None:
        """Append live messages to `found`, until their bodies make `size` bytes. Raises Damaged."""
        for seq in seqs:
            message = self._load(seq)
            found.append(message)
            size -= len(message.body)
            if size <= 0:
                return

    def verify(self, from_seq: int = 1, limit: int = 1000) -> int:
        """Read and check up to `limit` messages. Return the sequence to continue from, 0 after the last."""
        for _ in range(limit):
            message = self.next((), from_seq)
            if message is None:
                return 0
            from_seq = message.seq + 1
        return from_seq

    def last(self, filter_: str) -> StoredMessage | None:
        """Return the newest message that the filter matches, None if there is none."""
        filters, up_to, index = (filter_,), self.last_seq, self._index
        # A literal subject is mostly a key, and mostly has one message.
        seq = index.last_seq(filters, up_to) if has_wildcard(filter_) else index.subject_last(filter_)
        while seq:
            try:
                return self._load(seq)
            except Damaged:
                seq = index.last_seq(filters, seq - 1)
        return None

    def next_seq(self, filters: Sequence[str], from_seq: int) -> int:
        """Return the sequence that `next` would read, 0 if there is none."""
        return self._index.next_seq(filters, from_seq)

    def preparing(self, filters: Sequence[str]) -> Iterator[None]:
        """Prepare for questions about these filters, in steps."""
        return self._index.preparing(filters)

    def matching(self, filters: Sequence[str]) -> Iterator[list[str]]:
        """Iterate over the subjects that the filters match, a list in each step."""
        return self._index.matching(filters)

    def count(self, filters: Sequence[str], from_seq: int) -> int:
        """Count the messages from `from_seq` on that the filters match."""
        return self._index.count(filters, from_seq)

    def subjects(self, filter_: str = ">") -> dict[str, int]:
        """Return the number of messages of each matching subject."""
        return self._index.subjects(filter_)

    def subject_count(self, subject: str) -> int:
        """Count the messages of one literal subject."""
        return self._index.subject_count(subject)

    def subject_first(self, subject: str) -> int:
        """Return the first sequence of one literal subject, or 0."""
        return self._index.subject_first(subject)

    def subject_last(self, subject: str) -> int:
        """Return the last sequence of one literal subject, or 0."""
        return self._index.subject_last(subject)

    def last_per_subject(self, filters: Sequence[str], up_to: int = 0) -> list[int]:
        """Return the last sequence (not above `up_to`, unless 0) of each matching subject, ascending."""
        return self._index.last_per_subject(filters, up_to or self.last_seq)

    def picking(self, filters: Sequence[str]) -> Generator[None, None, tuple[int, Sequences]]:
        """Return, in steps, the last sequence now, and the last one up to it of each matching subject."""
        bound = self.last_seq
        return bound, (yield from self._index.picking(filters, bound))

    def lasts(self, subjects: Iterable[str], up_to: int) -> list[int]:
        """Return the last sequence not above `up_to` of each of these literal subjects that has one."""
        return self._index.lasts(subjects, up_to)

    def damaged(self) -> list[int]:
        """Return the sequences of messages that are known to be lost to damage."""
        return sorted(self._lost)

    def gaps(self, start: int = 0) -> Iterator[tuple[int, int]]:
        """Iterate over the runs of sequences without a message, damaged ones included: (first, last)."""
        live = self._index.live
        if not live.count:
            return
        yield from live.gaps(start)
        if live.last < self.last_seq >= start:
            yield max(live.last + 1, start), self.last_seq

    # -- deleting

    def remove(self, seq: int, *, erase: bool = False) -> int | None:
        """Delete a message and return the bytes freed, None if there is none."""
        self._check_open()
        if seq not in self._index.live:
            return self._forget_lost(seq)
        return self._forget(seq, erase=erase)[1]

    def remove_first(self) -> tuple[int, str, int]:
        """Delete the first message. Raises NotFound if there is none."""
        self._check_open()
        seq = self._index.live.first
        if not seq:
            raise NotFound("the stream is empty")
        subject, size = self._forget(seq, erase=False)
        if self._lost:
            self._drop_lost_before(seq)
        return seq, subject, size

    def purge(self, *, subject: str | None = None, up_to: int = 0, keep: int = 0) -> int:
        """Delete many messages and return how many; see `stream.StreamStore.purge`."""
        before = self.messages
        for _ in self.purging(subject=subject, up_to=up_to, keep=keep):
            pass
        return before - self.messages

    def purging(
        self, *, subject: str | None = None, up_to: int = 0, keep: int = 0
    ) -> Generator[Sequence[int] | None, None, None]:
        """Purge in steps, oldest first; see `stream.StreamStore.purging`."""
        self._check_open()
        if up_to == 1:
            return
        filters, last = _filters(subject), self.last_seq
        if not filters:
            self.skip_to(up_to - 1)  # messages that are added from now on are above
        for _ in self._index.preparing(filters):
            yield ()
        limit = min(self._limit(filters, up_to, keep), last)
        if filters:
            yield from self._removing(filters, limit)
            return
        if self._is_cheap(limit + 1):
            self._forget_before(limit + 1)
            yield None
        elif self._index.live.count_from(limit + 1) <= STEP:
            remains = self._forget_all_but(list(self._index.live.between(limit + 1, self.last_seq)))
            yield None
            for _ in releasing(remains):
                yield ()
        else:
            yield from self._removing((), limit)
        self._drop_lost_before(limit + 1)

    def _limit(self, filters: Sequence[str], up_to: int, keep: int) -> int:
        """Return the last sequence that such a purge may remove."""
        limit = up_to - 1 if up_to else self.last_seq
        if keep and (filters or not up_to):
            limit = min(limit, self._index.newest(filters, keep) - 1)
        return limit

    def purge_bound(self, *, subject: str | None = None, up_to: int = 0, keep: int = 0) -> int:
        """Return the sequence below which one step of such a purge removes messages; 0 if it is one step."""
        filters, live = _filters(subject), self._index.live
        limit = self._limit(filters, up_to, keep)
        if not filters and (self._is_cheap(limit + 1) or live.count_from(limit + 1) <= STEP):
            return 0
        seqs = self._index.run(filters, 0, limit, STEP)
        return seqs[-1] + 1 if len(seqs) == STEP else 0

    def _removing(self, filters: Sequence[str], limit: int) -> Generator[Sequence[int], None, None]:
        """Remove what the filters match up to `limit`, oldest first."""
        low = 0
        while seqs := self._index.run(filters, low, limit, STEP):
            self._check_open()
            for seq in seqs:
                self._forget(seq, erase=False)
            low = seqs[-1] + 1
            yield seqs

    def release(self) -> list[Heap]:
        """Abandon the store, and return what it had in memory, for `subjects.releasing`."""
        remains = self._forget_all_but([])
        self.abandon()
        return remains

    def _forget_lost(self, seq: int) -> int | None:
        """Delete a damaged message. It is no longer reported, and counts no bytes."""
        return None if self._lost.pop(seq, None) is None else 0

    def _drop_lost_before(self, seq: int) -> None:
        """Stop reporting damaged messages that are older than what limits and purges removed."""
        for lost in [lost for lost in self._lost if lost < seq]:
            del self._lost[lost]


def check_rising(seqs: "array[int]", last_seq: int) -> None:
    """Raise ValueError unless each sequence is above the one before it, and the first above `last_seq`."""
    if seqs[0] <= last_seq or any(map(ge, seqs, seqs[1:])):
        raise ValueError(f"sequences do not rise from {last_seq}")


def _filters(subject: str | None) -> tuple[str, ...]:
    return () if subject is None or subject == ">" else (subject,)
