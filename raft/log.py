"""The replicated log as a member keeps it in memory.

Promise: a committed entry is never replaced. An attempt to do so raises BrokenLogError.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from .entry import OVERHEAD, Entry, EntryType, Snapshot
from .members import Members


class BrokenLogError(AssertionError):
    """Raft's guarantees are broken, so the member must stop.

    A committed entry would be replaced, an entry that is not here is said to be committed, or the log on the
    disk does not reach as far as the application has applied.
    """


@dataclass(slots=True)
class RaftLog:
    """The log of one member, from `base` to `last`.

    snapshot: the newest snapshot; base <= snapshot.index <= applied. Entries before its index may be kept.
    base: the index before the first entry in memory. Everything up to it is committed.
    base_term: the term of the entry at `base`.
    entries: the entries from base + 1 to `last`.
    commit: the last index that a majority is known to have on its disks (thesis: commitIndex). It never
        falls; commit <= last.
    applied: the last index that the application has been given, or will have with a snapshot that comes first
        (thesis: lastApplied). It never falls; base <= applied <= commit.
    stable: the last index that is durable here; stable <= last. 0 while a leader's snapshot is being written.
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
    # (index, configuration) of each change, oldest first. The first is in force at `base` or the snapshot.
    _members: list[tuple[int, Members]] = field(default_factory=list)

    @classmethod
    def load(
        cls, snapshot: Snapshot, base: int, base_term: int, entries: Sequence[Entry], applied: int = 0
    ) -> RaftLog:
        """Return the log that was found on the disk: a snapshot, and the entries after `base`.

        The entries follow `base`, not the index of the snapshot. `applied` is the last index that the
        application itself has applied durably. Raises BrokenLogError if the log does not reach that far,
        which means that it lost something.
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
        """The index of the last entry."""
        return self.base + len(self.entries)

    @property
    def last_term(self) -> int:
        """The term of the last entry."""
        return self.entries[-1].term if self.entries else self.base_term

    @property
    def bare(self) -> bool:
        """Whether there is nothing to build on: the member is new, or has lost its snapshot."""
        return not self.snapshot.members.all

    @property
    def members(self) -> Members:
        """The newest configuration, committed or not."""
        return self._members[-1][1]

    @property
    def members_index(self) -> int:
        """The index of the newest configuration."""
        return self._members[-1][0]

    def members_at(self, index: int) -> Members:
        """Return the configuration in force after `index`."""
        return next(members for at, members in reversed(self._members) if at <= index)

    def entry(self, index: int) -> Entry:
        """Return the entry at an index in (base, last]."""
        return self.entries[index - self.base - 1]

    def term(self, index: int) -> int:
        """Return the term at an index: 0 at the very beginning, -1 where the log does not reach."""
        if index == self.base:
            return self.base_term
        if not self.base < index <= self.last:
            return -1
        return self.entries[index - self.base - 1].term

    def append(self, entries: Sequence[Entry]) -> None:
        """Append entries to the log."""
        index = self.last
        self.entries.extend(entries)
        for entry in entries:
            index += 1
            if entry.kind == EntryType.MEMBERS:
                self._members.append((index, Members.decode(entry.data)))

    def maybe_append(self, prev: int, prev_term: int, entries: Sequence[Entry]) -> int | None:
        """Take a leader's entries after `prev`, and return the last index that now agrees, or None.

        An entry that is here already stays. One that contradicts the leader's is removed, with all after it.
        The result is None if the entry at `prev` does not have the term `prev_term`. Raises BrokenLogError if
        a committed entry would be removed.
        """
        if prev < self.base:  # entries up to the base are committed, so they agree
            skip = self.base - prev
            if skip > len(entries):
                return prev + len(entries)
            entries, prev, prev_term = entries[skip:], self.base, self.base_term
        if self.term(prev) != prev_term:
            return None
        for offset, entry in enumerate(entries):
            index = prev + 1 + offset
            if index > self.last:
                self.append(entries[offset:])
                break
            if self.entries[index - self.base - 1].term != entry.term:
                self._cut(index)
                self.append(entries[offset:])
                break
        return prev + len(entries)

    def _cut(self, index: int) -> None:
        """Remove all entries from `index` on. Raises BrokenLogError if one of them is committed."""
        if index <= self.commit:
            raise BrokenLogError(f"entry {index} is committed (up to {self.commit}) and would be replaced")
        del self.entries[index - self.base - 1 :]
        self.stable = min(self.stable, index - 1)
        self.unwritten = min(self.unwritten, index)
        while self._members[-1][0] >= index:
            self._members.pop()

    def slice(self, first: int, most_bytes: int) -> list[Entry]:
        """Return the entries from `first` on, as many as have `most_bytes` in all.

        The last one may exceed that, so that there is always progress. [] if the log ends before `first`.
        """
        start = first - self.base - 1
        entries = self.entries
        end = start
        room = most_bytes
        while end < len(entries) and (room > 0 or end == start):
            room -= len(entries[end].data) + OVERHEAD
            end += 1
        return entries[start:end]

    def find_conflict_by_term(self, index: int, term: int) -> tuple[int, int]:
        """Return (index, term) of the last entry here that another log may also have.

        The other log has an entry of `term` at `index`. Terms never fall along a log, so at `index` and
        before it has no term above `term`: entries here with a higher one are not in it (etcd:
        findConflictByTerm).
        """
        index = min(index, self.last)
        while index > self.base and self.term(index) > term:
            index -= 1
        return index, self.term(index)

    def other_is_up_to_date(self, last: int, last_term: int) -> bool:
        """Whether a log that ends with (`last`, `last_term`) is at least as up-to-date as this one.

        The thesis's rule for votes (3.6.1): the later last term wins; with equal terms, the longer log.
        """
        return (last_term, last) >= (self.last_term, self.last)

    def commit_to(self, index: int) -> bool:
        """Raise `commit` to `index`, and return whether it rose.

        Raises BrokenLogError if the log ends before it.
        """
        if index <= self.commit:
            return False
        if index > self.last:
            raise BrokenLogError(f"entry {index} is said to be committed; the log ends at {self.last}")
        self.commit = index
        while len(self._members) > 1 and self._members[1][0] <= self.base:
            del self._members[0]
        return True

    def written_to(self, index: int, term: int) -> None:
        """Note that everything up to `index` is durable, if the entry there still has the term `term`."""
        if index > self.stable and self.term(index) == term:
            self.stable = index

    def compact(self, snapshot: Snapshot, keep: int) -> None:
        """Drop the entries that the snapshot covers, except the newest `keep` ones before its index.

        Raises ValueError if the index of the snapshot is not in [base, applied].
        """
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
        """Replace the whole log by a leader's snapshot."""
        self.snapshot = snapshot
        self.base, self.base_term = snapshot.index, snapshot.term
        self.entries = []
        self.commit = self.applied = snapshot.index
        self.stable, self.unwritten = 0, snapshot.index + 1  # nothing is durable until it is written
        self._members = [(snapshot.index, snapshot.members)]

    def _note_members(self, index: int, entry: Entry) -> None:
        if entry.kind == EntryType.MEMBERS:
            self._members.append((index, Members.decode(entry.data)))
