"""The entries of an archive: `state.json`, the consumers that it counts, the messages, and an empty entry.

An entry consists of numbers, a name and a payload. A consumer's name is `consumers/<name>`. The name of a
message is its subject, and its payload is the header block and the body. The last entry is empty: an archive
that ends without it was cut short.
"""

from __future__ import annotations

from ..lazy_dataclass import dataclass

MAGIC = b"NATSARC1"
STATE, CONSUMERS = "state.json", "consumers/"
_LONGEST_NAME = 1 << 20
_LARGEST = 1 << 30  # bytes of an entry's payload


class ArchiveError(ValueError):
    """The bytes are not an archive, or were cut short."""


@dataclass(frozen=True, slots=True)
class ArchiveEntry:
    """One entry. `time` is in ns since the epoch. `seq` is 0 for an entry that is not a message."""

    name: str
    time: int = 0
    seq: int = 0
    header: bytes = b""
    body: bytes = b""

    @property
    def last(self) -> bool:
        """Whether this entry ends the archive."""
        return not (self.name or self.seq or self.time or self.header or self.body)

    def encode(self) -> bytes:
        """Return the bytes of the entry in an archive."""
        return encode(self.name, self.time, self.seq, self.header, self.body)


END = ArchiveEntry("")


def encode(name: str, time: int, seq: int, header: bytes, body: bytes) -> bytes:
    """Return the bytes of an entry in an archive."""
    raw = name.encode("utf-8", "surrogateescape")
    out = bytearray()
    for value in (len(raw), time << 1 if time >= 0 else (-time << 1) - 1, seq, len(header), len(body)):
        rest = value
        while rest > 127:
            out.append(rest & 127 | 128)
            rest >>= 7
        out.append(rest)
    return b"".join((out, raw, header, body))


class ArchiveReader:
    """Reads an archive that arrives in pieces of any size."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._begun = self._ended = False

    def feed(self, piece: bytes) -> list[ArchiveEntry]:
        """Return the entries that are complete now. Raises ArchiveError if the bytes are not an archive."""
        rest = self._rest
        rest += piece
        at = 0
        if not self._begun:
            if not MAGIC.startswith(bytes(rest[: len(MAGIC)])):
                raise ArchiveError("it is no archive of a stream as servers from 2.15 on make them")
            if len(rest) < len(MAGIC):
                return []
            self._begun, at = True, len(MAGIC)
        found = []
        while (read := self._entry(at)) is not None:
            entry, at = read
            if self._ended:
                raise ArchiveError("there is more after the last entry")
            self._ended = entry.last
            found.append(entry)
        del rest[:at]
        return found

    @property
    def waiting(self) -> int:
        """How many bytes have come of an entry that is not complete."""
        return len(self._rest)

    def end(self) -> None:
        """Note that nothing more will come. Raises ArchiveError if the archive was cut short."""
        if self._rest or not self._ended:
            raise ArchiveError("it was cut short")

    def _entry(self, at: int) -> tuple[ArchiveEntry, int] | None:
        """Return the entry at `at` and where the next one begins; None if it is not complete yet."""
        numbers: list[int] = []
        rest, length = self._rest, len(self._rest)
        for _ in range(5):
            value = shift = 0
            while True:
                if at >= length:
                    return None
                byte = rest[at]
                value |= (byte & 127) << shift
                at, shift = at + 1, shift + 7
                if byte < 128:
                    break
                if shift > 63:
                    raise ArchiveError("a number is too long")
            numbers.append(value)
        name, time, seq, header, body = numbers
        if name > _LONGEST_NAME or header + body > _LARGEST:
            raise ArchiveError("an entry is too long")
        if length - at < name + header + body:
            return None
        middle, end = at + name, at + name + header
        text = bytes(rest[at:middle]).decode("utf-8", "surrogateescape")
        entry = ArchiveEntry(
            text,
            time >> 1 if not time & 1 else -(time + 1 >> 1),
            seq,
            bytes(rest[middle:end]),
            bytes(rest[end : end + body]),
        )
        return entry, end + body
