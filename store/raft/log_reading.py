"""Reading a Raft log from its segments: what is there, where it ends, and whether something was lost.

A write that was cut short by a power failure leaves a torn tail after the synced bytes. Nobody depends on it,
so it is not a loss. Anything else that cannot be read is one.
"""

from __future__ import annotations

from dataclasses import field

from ...protocol.lazy_dataclass import dataclass
from ..errors import Damaged
from ..fs import FileSystem, read_file
from .segment import HEADER_SIZE, LogRecord, SegmentHeader, read_header, scan
from .state_files import SyncMark

PREFIX = "log."


@dataclass(slots=True)
class LogReading:
    """What was read.

    base, base_term: the index and term that precede the first entry.
    entries: the entries from base + 1 on.
    segments: (header, good bytes) of each readable segment.
    lost: what was lost, "" if nothing.
    """

    base: int = 0
    base_term: int = 0
    entries: list[LogRecord] = field(default_factory=list)
    segments: list[tuple[SegmentHeader, int]] = field(default_factory=list)
    lost: str = ""

    @property
    def last(self) -> int:
        """The index of the last entry."""
        return self.base + len(self.entries)

    @property
    def last_term(self) -> int:
        """The term of the last entry."""
        return self.entries[-1].term if self.entries else self.base_term

    def term(self, index: int) -> int:
        """Return the term at an index, -1 if there is none."""
        if index == self.base:
            return self.base_term
        return self.entries[index - self.base - 1].term if self.base < index <= self.last else -1


def numbers(fs: FileSystem, path: str) -> list[int]:
    """Return the numbers of the segments in a directory, in order. Raises OSError."""
    found = [name.removeprefix(PREFIX) for name in fs.names(path) if name.startswith(PREFIX)]
    return sorted(int(number) for number in found if number.isdigit())


def read(fs: FileSystem, path: str, mark: SyncMark) -> LogReading:
    """Read all segments, in order, up to the first damage. Raises OSError."""
    reading = LogReading()
    present = numbers(fs, path)
    if not present or mark.number > present[-1]:  # segments before the first were compacted away
        reading.lost = f"{path}: log.{mark.number or 1} is missing"
        return reading
    for index, number in enumerate(present):
        if index and number != present[index - 1] + 1:
            reading.lost = f"{path}: log.{present[index - 1] + 1} is missing"
            return reading
        newest = number == present[-1]
        synced = mark.length if mark.number == number else 0
        damage, at, torn = _segment(reading, read_file(fs, f"{path}/{PREFIX}{number}"), number)
        if damage or at < synced:
            if not newest or at < synced or not torn:
                reading.lost = damage or f"log.{number}: {synced} bytes were synced, {at} are there"
            return reading
    return reading


def _segment(reading: LogReading, data: bytes, number: int) -> tuple[str, int, bool]:
    """Add a segment's records.

    Return (damage, where the good part ends, whether the rest may be a torn tail).
    """
    try:
        header = read_header(data, number)
    except Damaged as error:
        return str(error), 0, len(data) <= HEADER_SIZE
    if (header.base, header.base_term) != (reading.last, reading.last_term):
        # The first segment, or one begun after a snapshot was installed. The store checks if one covers it.
        reading.base, reading.base_term = header.base, header.base_term
        reading.entries, reading.segments = [], []
    found = scan(data, number)
    last = reading.last
    for index, record in found.records:
        if index > last + 1:
            return f"log.{number}: entry {index} cannot follow {last}", 0, False
        last = index
        # The entry replaces those after it. The log may even have been cut back to before the base.
        del reading.entries[max(index - reading.base - 1, 0) :]
        if index > reading.base:
            reading.entries.append(record)
        elif index == reading.base:
            reading.base_term = record.term
    reading.segments.append((header, found.end))
    return found.damage, found.end, found.torn
