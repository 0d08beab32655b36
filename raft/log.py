"""The replicated log as its member holds it in memory.

Promise: what is committed is never replaced; an attempt means that Raft's promises are broken, and raises.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from .entry import OVERHEAD, Entry, EntryType, Snapshot
from .members import Members


class BrokenLogError(AssertionError):
    """A committed entry would be replaced: the member must stop, its group is not to be trusted."""


@dataclass(slots=True)
class RaftLog:
    """The log of one member, from `base` to `last`.

    snapshot: the newest one; base <= snapshot.index <= applied. Entries before its index may be kept.
    base: the index before the first entry in memory; what is before it is committed.
    base_term: the term of the entry at `base`.
    entries: those at base + 1 to `last`.
    commit: up to here a majority has the log on its disks, as far as known (thesis: commitIndex). It never
        falls; commit <= last.
    applied: up to here the application was given the log, or is given a snapshot before anything else
        (thesis: lastApplied). It never falls; base <= applied <= commit.
    stable: up to here the log is durable here; stable <= last. 0 while a leader's snapshot is being written.
    unwritten: the first index that no write has taken yet; stable < unwritten <= last + 1.
    """

    snapshot: Snapshot
    base: int
    base_term: int
    entries: list[Entry] = field(default_factory=list)
    commit: int = 0
    applied: int = 0
    stable: int = 0
    unwritten: int = 0
    # (index, configuration) of each change, oldest first; the first one counts at `base`, or at the snapshot.
    _members: list[tuple[int, Members]] = field(default_factory=list)

    @classmethod
    def load(
        cls, snapshot: Snapshot, base: int, base_term: int, entries: Sequence[Entry], applied: int = 0
    ) -> RaftLog:
        """What was found on the disk: a snapshot, and entries after `base` (not after the snapshot's index).

        applied: what the application has applied durably by itself. Raises BrokenLogError when the log does
        not reach so far: it lost something.
        """
        log = cls(snapshot, base, base_term, list(entries))
        log.commit = log.applied = max(snapshot.index, applied)
        if not base <= snapshot.index <= log.commit <= log.last:
            raise BrokenLogError(
                f"base {base}, snapshot {snapshot.index}, applied {applied} and last {log.last} do not fit"
            )
        log.stable = log.last
        log.unwritten = log.last + 1
        log._members = [(snapshot.index, snapshot.members)]
        for index in range(snapshot.index + 1, log.last + 1):
            log._note_members(index, log.entry(index))
        return log

    @property
    def last(self) -> int:
        """The last index."""
        return self.base + len(self.entries)

    @property
    def last_term(self) -> int:
        """The last entry's term."""
        return self.entries[-1].term if self.entries else self.base_term

    @property
    def bare(self) -> bool:
        """Whether there is nothing to build on: a new member, or one that lost its snapshot."""
        return not self.snapshot.members.all

    @property
    def members(self) -> Members:
        """The newest configuration, committed or not."""
        return self._members[-1][1]

    @property
    def members_index(self) -> int:
        """Where the newest configuration stands."""
        return self._members[-1][0]

    def members_at(self, index: int) -> Members:
        """The configuration after `index`."""
        return next(members for at, members in reversed(self._members) if at <= index)

    def entry(self, index: int) -> Entry:
        """The entry at an index in (base, last]."""
        return self.entries[index - self.base - 1]

    def term(self, index: int) -> int:
        """The term at an index; 0 at the very beginning, -1 where the log does not reach."""
        if index == self.base:
            return self.base_term
        if not self.base < index <= self.last:
            return -1
        return self.entries[index - self.base - 1].term

    def append(self, entries: Sequence[Entry]) -> None:
        """Put entries at the end."""
        index = self.last
        self.entries.extend(entries)
        for entry in entries:
            index += 1
            if entry.kind == EntryType.MEMBERS:
                self._members.append((index, Members.decode(entry.data)))

    def follow(self, prev: int, prev_term: int, entries: Sequence[Entry]) -> int | None:
        """Take a leader's entries after `prev`; gives the last index that agrees now, or None.

        What is here already stays; what contradicts goes, with all after it.
        """
        if prev < self.base:  # what is before the base is committed: it agrees
            skip = self.base - prev
            if skip > len(entries):
                return prev + len(entries)
            entries, prev, prev_term = entries[skip:], self.base, self.base_term
        if self.term(prev) != prev_term:
            return None
        for place, entry in enumerate(entries):
            index = prev + 1 + place
            if index > self.last:
                self.append(entries[place:])
                break
            if self.entries[index - self.base - 1].term != entry.term:
                self._cut(index)
                self.append(entries[place:])
                break
        return prev + len(entries)

    def _cut(self, index: int) -> None:
        """Forget all from `index` on."""
        if index <= self.commit:
            raise BrokenLogError(f"entry {index} is committed (up to {self.commit}) and would be replaced")
        del self.entries[index - self.base - 1 :]
        self.stable = min(self.stable, index - 1)
        self.unwritten = min(self.unwritten, index)
        while self._members[-1][0] >= index:
            self._members.pop()

    def slice(self, first: int, most_bytes: int) -> list[Entry]:
        """Entries from `first` on, at least one if there is one, together not much more than `most_bytes`."""
        start = first - self.base - 1
        entries = self.entries
        end = start
        room = most_bytes
        while end < len(entries) and (room > 0 or end == start):
            room -= len(entries[end].data) + OVERHEAD
            end += 1
        return entries[start:end]

    def agreement(self, index: int, term: int) -> tuple[int, int]:
        """The last (index, term) here that a log with `term` at `index` may share."""
        index = min(index, self.last)
        while index > self.base and self.term(index) > term:
            index -= 1
        return index, self.term(index)

    def up_to_date(self, last: int, last_term: int) -> bool:
        """Whether a log that ends so holds all that this one may have vouched for (thesis 3.6.1)."""
        return (last_term, last) >= (self.last_term, self.last)

    def commit_to(self, index: int) -> bool:
        """Raise `commit`; whether it rose."""
        if index <= self.commit:
            return False
        if index > self.last:
            raise BrokenLogError(f"entry {index} is said to be committed; the log ends at {self.last}")
        self.commit = index
        while len(self._members) > 1 and self._members[1][0] <= self.base:
            del self._members[0]
        return True

    def written_to(self, index: int, term: int) -> None:
        """All up to `index`, which then had `term`, is durable, unless it was replaced meanwhile."""
        if index > self.stable and self.term(index) == term:
            self.stable = index

    def compact(self, snapshot: Snapshot, keep: int) -> None:
        """Let go of what the snapshot covers, but for the newest `keep` entries before its index."""
        if not self.base <= snapshot.index <= self.applied:
            raise ValueError(f"a snapshot at {snapshot.index} is not between {self.base} and {self.applied}")
        self.snapshot = snapshot
        base = max(self.base, min(snapshot.index, self.stable) - keep)
        term = self.term(base)
        del self.entries[: base - self.base]
        self.base, self.base_term = base, term
        while len(self._members) > 1 and self._members[1][0] <= base:
            del self._members[0]

    def restore(self, snapshot: Snapshot) -> None:
        """Begin anew from a leader's snapshot."""
        self.snapshot = snapshot
        self.base, self.base_term = snapshot.index, snapshot.term
        self.entries = []
        self.commit = self.applied = snapshot.index
        self.stable, self.unwritten = 0, snapshot.index + 1  # nothing is durable until it is written
        self._members = [(snapshot.index, snapshot.members)]

    def _note_members(self, index: int, entry: Entry) -> None:
        if entry.kind == EntryType.MEMBERS:
            self._members.append((index, Members.decode(entry.data)))
