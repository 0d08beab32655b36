"""The directory of one Raft member.

Promises: `open` reads everything that a finished `write` wrote, or reports its loss (`StoredRaft.lost`). A
loss is recorded as `recovering` in the state before anything is cut off, and damaged files are kept under
another name. Without a readable state nobody knows what this member has promised: `open` raises Damaged, and
the member must be replaced by a new one. `synced` is written after each sync and never synced itself: it may
be old, but never wrong. Zeros may be written ahead of the newest segment's end; they are no damage there.

After an OSError from `write` or `compact` nothing more is written, because nobody knows what the disk holds
(an fsync that failed once may succeed the next time although the data is gone).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from ...protocol.lazy_dataclass import dataclass
from ..copies import COPY
from ..errors import Damaged, NotFound
from ..fs import FileSystem, write_file
from .log_reading import PREFIX, LogReading, numbers, read
from .segment import LogRecord, SegmentHeader, pack_header, pack_records
from .state_files import (
    StoredSnapshot,
    StoredState,
    SyncMark,
    pack_mark,
    read_mark,
    read_snapshot,
    read_state,
    write_snapshot,
    write_state,
)

SEGMENT_BYTES = 16 << 20
AHEAD = 64 * 1024  # zeros that are written ahead of a segment's end at once
_SMALL = 4096  # bytes of a write of entries that is small
_RUN = 16  # small writes in a row, after which zeros are written ahead of the next ones
_STATE, _SNAPSHOT, _SYNCED = "state", "snapshot", "synced"


@dataclass(frozen=True, slots=True)
class StoredRaft:
    """What `open` found.

    state, snapshot: as last written, with the boot count raised.
    base, base_term: the index and term that precede the entries.
    entries: the entries from base + 1 on.
    lost: what was damaged and is lost, "" if nothing.
    repaired: what was damaged but is not needed.
    """

    state: StoredState
    snapshot: StoredSnapshot
    base: int
    base_term: int
    entries: list[LogRecord]
    lost: str
    repaired: str = ""


class RaftStore:
    """The files of one member; see the head of the module. All calls may raise OSError.

    failed: whether one of them did in `write` or `compact`. Nothing more can be written then.
    """

    def __init__(self, path: str, *, fs: FileSystem, segment_bytes: int = SEGMENT_BYTES) -> None:
        self.path = path
        self.failed = False
        self._fs = fs
        self._segment_bytes = segment_bytes
        self._segments: list[SegmentHeader] = []
        self._file = self._mark = -1
        self._size = 0
        self._reserved = 0  # where the zeros end that were written ahead; 0 if there are none
        self._small = 0  # how many writes of entries in a row were small
        self._last = self._last_term = 0

    def exists(self) -> bool:
        """Return whether there is a member in this directory."""
        states = (self._at(_STATE), self._at(_STATE + COPY))
        return any(map(self._fs.exists, states)) or bool(numbers(self._fs, self.path))

    def create(self, snapshot: StoredSnapshot, state: StoredState | None = None) -> None:
        """Create a member's log with a snapshot that all members share.

        It is usually empty, for the first members. The state is written last, so a creation that a crash cut
        short does not count.
        """
        self._fs.make_directory(self.path)
        for name in self._fs.names(self.path):
            self._fs.remove(self._at(name))
        write_snapshot(self._fs, self._at(_SNAPSHOT), snapshot)
        self._last, self._last_term = snapshot.index, snapshot.term
        self._segments = []
        self._begin_segment(1)
        write_state(self._fs, self._at(_STATE), state or StoredState())
        self.close()

    def open(self) -> StoredRaft:
        """Read everything and prepare for writing. The boot count in the state is raised by one.

        Raises NotFound if there is no member here, Damaged if the state is missing or cannot be read.
        """
        if not self.exists():
            raise NotFound(self.path)
        state, damage = read_state(self._fs, self._at(_STATE))
        mark, mark_damage = read_mark(self._fs, self._at(_SYNCED))
        next_ = max([mark.number, *numbers(self._fs, self.path)]) + 1
        reading = read(self._fs, self.path, mark)
        snapshot, lost = self._snapshot(reading)
        state = state._replace(boot=state.boot + 1, recovering=state.recovering or bool(lost))
        write_state(self._fs, self._at(_STATE), state)
        if lost:
            self._set_aside(state.boot)
            self._rebuild(snapshot, reading, next_)
        elif reading.term(snapshot.index) != snapshot.term:
            # The snapshot was installed just before a power failure: `_rebuild` drops the older log.
            self._rebuild(snapshot, reading, next_)
        else:
            self._go_on(reading, mark)
        repaired = "; ".join(f"{one}, and is rewritten" for one in (damage, mark_damage) if one)
        return StoredRaft(state, snapshot, reading.base, reading.base_term, reading.entries, lost, repaired)

    def close(self) -> None:
        """Cut off the zeros, and close the descriptors. A second call does nothing."""
        if self._file >= 0 and self._reserved and not self.failed:
            with suppress(OSError):  # otherwise the next opening does it
                self._fs.truncate(self._file, self._size)
        self._reserved = 0
        for file in (self._file, self._mark):
            if file >= 0:
                self._fs.close(file)
        self._file = self._mark = -1

    def write(
        self,
        *,
        state: StoredState | None = None,
        snapshot: StoredSnapshot | None = None,
        first: int = 0,
        entries: Sequence[tuple[int, int, bytes]] = (),
    ) -> None:
        """Make durable, in this order: the state, a snapshot that replaces the log, entries from `first` on.

        Raises OSError, after which this store is `failed`.
        """
        self._check()
        try:
            if state is not None:
                write_state(self._fs, self._at(_STATE), state)
            if snapshot is not None:
                self._install(snapshot)
            if entries:
                self._append(first, entries)
        except OSError:
            self.failed = True
            raise

    def compact(self, snapshot: StoredSnapshot, base: int) -> None:
        """Store a newer snapshot of the application. Entries up to `base` are no longer needed."""
        self._check()
        try:
            write_snapshot(self._fs, self._at(_SNAPSHOT), snapshot)
            while len(self._segments) > 1 and self._segments[1].base <= base:
                self._remove([self._segments[0].number])
                del self._segments[0]
        except OSError:
            self.failed = True
            raise

    # --- opening

    def _snapshot(self, reading: LogReading) -> tuple[StoredSnapshot, str]:
        """Return the snapshot, and what was lost of it or of the log."""
        try:
            snapshot = read_snapshot(self._fs, self._at(_SNAPSHOT))
        except Damaged as error:
            return StoredSnapshot(), str(error)
        if not reading.lost and snapshot.index < reading.base:
            return (
                snapshot,
                f"{self.path}: the log begins after {reading.base}, the snapshot is of {snapshot.index}",
            )
        return snapshot, reading.lost

    def _set_aside(self, boot: int) -> None:
        """Rename the snapshot and the segments, of which some are damaged."""
        for name in self._fs.names(self.path):
            if name == _SNAPSHOT or name.startswith(PREFIX):
                self._fs.rename(self._at(name), self._at(f"damaged.{boot}.{name}"))
        self._fs.remove(self._at(_SYNCED))

    def _rebuild(self, snapshot: StoredSnapshot, reading: LogReading, number: int) -> None:
        """Start the log again with what could be read. Entries that do not fit the snapshot are left out."""
        if not snapshot.members or reading.term(snapshot.index) != snapshot.term:
            reading.base, reading.base_term, reading.entries = snapshot.index, snapshot.term, []
        write_snapshot(self._fs, self._at(_SNAPSHOT), snapshot)
        old = numbers(self._fs, self.path)
        header = SegmentHeader(number, reading.base, reading.base_term)
        data = pack_header(header) + pack_records(reading.base + 1, reading.entries)
        # This is one step: before it the old segments count, after it only this one.
        write_file(self._fs, self._segment_path(number), data)
        self._segments = [header]
        self._last, self._last_term = reading.last, reading.last_term
        self._file = self._fs.open(self._segment_path(number))
        self._size = len(data)
        self._mark = self._fs.open(self._at(_SYNCED), create=True)
        self._note_synced()
        self._remove(old)

    def _go_on(self, reading: LogReading, mark: SyncMark) -> None:
        """Prepare to write at the end of the log, and cut off a torn tail.

        Bytes that are not known to be synced are written again: after a failed sync the system may show bytes
        that the disk does not hold, and report success for a sync without a new write.
        """
        self._segments = [header for header, _ in reading.segments]
        used = {header.number for header in self._segments}
        self._remove([number for number in numbers(self._fs, self.path) if number not in used])
        header, self._size = reading.segments[-1]
        self._file = self._fs.open(self._segment_path(header.number))
        self._mark = self._fs.open(self._at(_SYNCED), create=True)
        if self._fs.size(self._file) > self._size:
            self._fs.truncate(self._file, self._size)
        synced = mark.length if mark.number == header.number else 0
        if synced < self._size:
            self._fs.rewrite(self._file, synced)
        self._fs.sync(self._file)
        self._last, self._last_term = reading.last, reading.last_term
        self._note_synced()

    # --- writing

    def _install(self, snapshot: StoredSnapshot) -> None:
        write_snapshot(self._fs, self._at(_SNAPSHOT), snapshot)
        old = self._segments
        self._last, self._last_term = snapshot.index, snapshot.term
        self._segments = []
        self._begin_segment(old[-1].number + 1)
        self._remove([header.number for header in old])

    def _append(self, first: int, entries: Sequence[tuple[int, int, bytes]]) -> None:
        if self._size >= self._segment_bytes and first == self._last + 1:
            self._begin_segment(self._segments[-1].number + 1)
        data = pack_records(first, entries)
        self._fs.write(self._file, data, self._size)
        end = self._size + len(data)
        self._small = self._small + 1 if len(data) <= _SMALL else 0
        if end >= self._reserved:
            self._reserved = self._write_ahead(end) if self._small > _RUN else 0
        self._fs.sync(self._file)
        self._size = end
        self._last, self._last_term = first + len(entries) - 1, entries[-1][0]
        self._note_synced()

    def _write_ahead(self, end: int) -> int:
        """Write zeros behind `end`, and return where they end; 0 if the disk has no room for them.

        The syncs of the writes that overwrite them need no change of the file's size.
        """
        try:
            self._fs.write(self._file, bytes(AHEAD), end)
        except OSError:
            self._fs.truncate(self._file, end)  # what some of them took is for others
            return 0
        return end + AHEAD

    def _begin_segment(self, number: int) -> None:
        header = SegmentHeader(number, self._last, self._last_term)
        if self._file >= 0:
            if self._reserved:  # only the newest segment may have zeros: in others they would be a loss
                self._fs.truncate(self._file, self._size)
                self._fs.sync(self._file)
                self._reserved = 0
            self._fs.close(self._file)
            self._file = -1
        data = pack_header(header)
        self._fs.remove(self._segment_path(number))
        self._file = self._fs.open(self._segment_path(number), create=True)
        self._fs.write(self._file, data, 0)
        self._fs.sync(self._file)
        self._fs.sync_directory(self.path)
        self._size = len(data)
        self._segments.append(header)
        if self._mark < 0:
            self._mark = self._fs.open(self._at(_SYNCED), create=True)
        self._note_synced()
        self._fs.sync(self._mark)  # so that a loss of the newest segment is noticed

    def _note_synced(self) -> None:
        self._fs.overwrite(self._mark, pack_mark(SyncMark(self._segments[-1].number, self._size)), 0)

    def _remove(self, old: list[int]) -> None:
        """Remove segments one after the other: a hole between two that are left would look like a loss."""
        for number in old:
            self._fs.remove(self._segment_path(number))
            self._fs.sync_directory(self.path)

    def _check(self) -> None:
        if self.failed:
            raise OSError(f"{self.path}: an earlier write failed, nothing more is written here")

    def _at(self, name: str) -> str:
        return f"{self.path}/{name}"

    def _segment_path(self, number: int) -> str:
        return self._at(f"{PREFIX}{number}")
