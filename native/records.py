"""Messages on their way into a store and back: as records of a block file (`store.record`), or as tuples."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from itertools import islice, repeat
from operator import add, eq, sub
from struct import Struct
from typing import Any, Final, TypeVar
from zlib import crc32

FIXED: Final = 32  # bytes before the subject
MAGIC: Final = 0xB5
MESSAGE: Final = 1
HAS_HEADER: Final = 0x80000000  # in the lengths of records, beside the length
LENGTH: Final = 0x7FFFFFFF
_CHECKSUM: Final = 4  # bytes of the checksum, which covers what follows it
_BEFORE_SUBJECT: Final = FIXED - _CHECKSUM

Made = TypeVar("Made", bound=tuple[Any, ...])

unpack_all = Struct("<IBBHIIQq").unpack_from
pack_fields = Struct("<BBHIIQq").pack
pack_checksum = Struct("<I").pack


def encode_messages(
    messages: Sequence[tuple[str, bytes, bytes]], seqs: array[int], times: array[int], seed: int, offset: int
) -> tuple[list[bytes], array[int], array[int], int]:
    """Return (records, offsets, lengths, headed) of messages that are stored one after the other.

    messages: (subject, header, body) of each.
    seqs, times: the sequence and the time in ns of each, as columns of type "Q" and "q".
    seed: with which the checksums of the file start.
    offset: where the first record will be in the file.

    The offsets and lengths are columns of type "I", and a length has the bit HAS_HEADER if there is a header;
    `headed` is how many have one.
    """
    records: list[bytes] = []
    offsets, lengths = array("I"), array("I")
    headed = 0
    for (subject, header, body), sequence, time in zip(messages, seqs, times, strict=True):
        key = subject.encode("utf-8", "surrogateescape")
        header_size = len(header)
        length = FIXED + len(key) + header_size + len(body)
        head = pack_fields(MAGIC, MESSAGE, len(key), length, header_size, sequence, time) + key + header
        records.append(pack_checksum(crc32(body, crc32(head, seed))) + head + body)  # copies the body once
        offsets.append(offset)
        lengths.append(length | HAS_HEADER if header_size else length)
        headed += header_size > 0
        offset += length
    return records, offsets, lengths, headed


def keep_messages(
    stored: dict[int, tuple[str, bytes, bytes, int]],
    messages: Sequence[tuple[str, bytes, bytes]],
    seqs: array[int],
    times: array[int],
) -> int:
    """Put messages into a dict as (subject, header, body, time), by sequence. Return the bytes of the parts.

    messages, seqs, times: as in `encode_messages`.
    """
    size = 0
    for (subject, header, body), sequence, time in zip(messages, seqs, times, strict=True):
        stored[sequence] = (subject, header, body, time)
        octets = len(subject) if subject.isascii() else len(subject.encode("utf-8", "surrogateescape"))
        size += octets + len(header) + len(body)
    return size


def decode_message(make: type[Made], data: bytes, seed: int, sequence: int, subject: str) -> Made | None:
    """Return the message of one record; None if the record is not whole or not as it should be.

    make, seed: as in `decode_messages`.
    data: the record.
    sequence, subject: those of the message. The subject in the record is not compared.
    """
    if len(data) < FIXED:
        return None
    checksum, magic, _, key, length, header, said, time = unpack_all(data)
    body = FIXED + key + header
    if magic != MAGIC or length != len(data) or said != sequence or body > length:
        return None
    if crc32(data[_CHECKSUM:], seed) != checksum:
        return None
    parts = (sequence, subject, data[FIXED + key : body] if header else b"", data[body:], time)
    return tuple.__new__(make, parts)


def decode_messages(
    make: type[Made],
    data: bytes,
    start: int,
    seed: int,
    seqs: Sequence[int],
    offsets: array[int],
    lengths: array[int],
    numbers: array[int],
    names: list[str],
) -> list[Made]:
    """Return the messages of these records, up to the first that is not whole or not as it should be.

    That is so if its checksum, sequence or length differs.

    make: the tuple of (sequence, subject, header, body, time) that is made of each.
    data: the bytes of the file from the offset `start` on.
    seed: with which the checksums of the file start.
    seqs, offsets, lengths: what is expected of each record; the latter are as `encode_messages` returns them.
    numbers: the places of their subjects in `names`.
    """
    # In columns, because a loop over the records would take twice as long.
    sizes = [length & LENGTH for length in lengths]
    positions = [offset - start for offset in offsets]
    whole = _whole(positions, sizes, len(data))
    if not whole:
        return []
    del sizes[whole:], positions[whole:]
    fields = map(unpack_all, repeat(data), positions)
    checksums, magics, _, keys, lengths_said, headers, seqs_said, times = zip(*fields, strict=True)
    bounds = zip(positions, sizes, strict=True)
    checked = [data[position + _CHECKSUM : position + size] for position, size in bounds]
    sums = tuple(map(crc32, checked, repeat(seed)))
    parts = tuple(map(add, keys, headers))
    good = _agreeing(
        (checksums, lengths_said, seqs_said, magics, parts),
        (sums, tuple(sizes), tuple(seqs[:whole]), (MAGIC,) * whole, _limited(parts, sizes)),
    )
    blocks: Iterable[bytes] = repeat(b"")
    if any(headers):
        ends = zip(checked, keys, parts, strict=True)
        blocks = [one[_BEFORE_SUBJECT + key : _BEFORE_SUBJECT + part] for one, key, part in ends]
    bodies = [one[_BEFORE_SUBJECT + part :] for one, part in zip(checked, parts, strict=True)]
    subjects = map(names.__getitem__, numbers)
    columns = zip(seqs, subjects, blocks, bodies, times, strict=False)
    return list(map(tuple.__new__, repeat(make), islice(columns, good)))


def _whole(positions: list[int], sizes: list[int], end: int) -> int:
    """Return how many records, before the first that is not, are in `end` bytes and have all fields."""
    ends = list(map(add, positions, sizes))
    if ends and min(positions) >= 0 and min(sizes) >= FIXED and max(ends) <= end:
        return len(sizes)
    places = zip(positions, sizes, ends, strict=True)
    wrong = (row for row, (at, size, to) in enumerate(places) if at < 0 or size < FIXED or to > end)
    return next(wrong, len(sizes))


def _limited(parts: tuple[int, ...], sizes: list[int]) -> tuple[int, ...]:
    """Return how long subject and header of each record may be together, or are if that is less."""
    return tuple(map(min, parts, map(sub, sizes, repeat(FIXED))))


def _agreeing(said: tuple[tuple[int, ...], ...], true: tuple[tuple[int, ...], ...]) -> int:
    """Return how many rows of the columns are equal before the first that is not."""
    if said == true:
        return len(true[0])
    return [*map(eq, zip(*said, strict=True), zip(*true, strict=True)), False].index(False)
