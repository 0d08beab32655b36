"""The entries of a replicated stream's log, and their encoding as bytes.

Promises:
- An entry contains everything that its effect depends on besides the stream itself.
- Its time is that of the leader when the entry was proposed, in ns.
- Bytes that are not understood raise StreamEntryError and are never guessed at, since a replica that skips an
  entry is not a replica any more.
- Numbers are little-endian.

This is a hot path: the publishes of one read are one entry. Packing and unpacking it makes no object per
message besides the tuple that the ingest takes.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable
from struct import Struct, error
from typing import TYPE_CHECKING, Any, NamedTuple

from ....protocol.errors import ApiError

if TYPE_CHECKING:
    from ...accounts.subscription import Publish

VERSION = 1
AGE, LIFETIMES = 1, 2
RUN = 512  # messages of an entry that are applied in one step

_HEAD = Struct("<BBq")  # version, kind, time
_COUNT = Struct("<I")


class StreamEntryError(ValueError):
    """These bytes are not an entry that this server understands."""


class Publishes(NamedTuple):
    """Store messages that came together, as `Ingest.receive_batch` takes them."""

    time: int
    run: list[Publish]


class PublishBatch(NamedTuple):
    """Store all messages of an atomic batch or none, as `Ingest.receive_whole` does."""

    time: int
    run: list[Publish]


class DeleteMsg(NamedTuple):
    """Remove one message.

    sequence: of the message.
    erase: whether its bytes are overwritten.
    """

    time: int
    sequence: int
    erase: bool


class Purge(NamedTuple):
    """Remove many messages; see `StreamStore.purge`.

    subject: which subjects, "" for all.
    up_to: the sequence before which messages are removed, 0 for no bound.
    keep: how many of the newest messages stay.
    """

    time: int
    subject: str
    up_to: int
    keep: int


class Expire(NamedTuple):
    """Remove the messages that have expired: by max_age (AGE), or by TTLs of their own (LIFETIMES)."""

    time: int
    what: int


class FireSchedules(NamedTuple):
    """Store what schedules bring: (sequence of the schedule, when it fires next or "purge") of each.

    The leader says when, as servers may know time zones in different editions.
    """

    time: int
    fired: list[tuple[int, str]]


class Configure(NamedTuple):
    """Change the stream's configuration; `config` is JSON."""

    time: int
    config: bytes


class AddConsumer(NamedTuple):
    """Add a consumer or change its configuration. created: ns; config: JSON."""

    time: int
    created: int
    name: str
    config: bytes


class RemoveConsumer(NamedTuple):
    """Remove a consumer, if there is one of this name."""

    time: int
    name: str


class ConsumerDelta(NamedTuple):
    """Change the agreed state of a consumer by what its leader did.

    base: how many changes were applied before; a change on another base is not applied.
    whole: whether `change` is the complete state, which needs no base.
    change: encoded as by `store.consumer_state.encode_change`.
    """

    time: int
    name: str
    base: int
    whole: bool
    change: bytes


class MirroredMsgs(NamedTuple):
    """Store messages of the mirror's origin: (sequence, time in ns, subject, header, body)."""

    time: int
    messages: list[tuple[int, int, str, bytes, bytes]]


class SourcedMsgs(NamedTuple):
    """Store messages of sources: (source's index, origin's identity and sequence, subject, header, body)."""

    time: int
    messages: list[tuple[str, str, int, str, bytes, bytes]]


class Skip(NamedTuple):
    """Skip the sequences up to and including `last`, without messages."""

    time: int
    last: int


class ForgetSource(NamedTuple):
    """Forget how far a source was read, because it starts over."""

    time: int
    source: str


class ResetStream(NamedTuple):
    """Start over with no messages and this configuration (JSON): all replicas lost what was in memory."""

    time: int
    config: bytes


Entry = (
    Publishes
    | PublishBatch
    | DeleteMsg
    | Purge
    | Expire
    | FireSchedules
    | Configure
    | AddConsumer
    | RemoveConsumer
    | ConsumerDelta
    | MirroredMsgs
    | SourcedMsgs
    | Skip
    | ForgetSource
    | ResetStream
)

# The result of an entry for its proposer: a number or True, an ApiError, or None if there is nothing to
# answer.
Outcome = int | bool | ApiError | None
# Has an entry agreed on; the callback gets the entry's result, or why it was not agreed on.
Order = Callable[[Entry, Callable[[Outcome | Exception], None]], None]

_DELETE = Struct("<Q?")
_PURGE = Struct("<QQ")
_ADD_CONSUMER = Struct("<qH")
_CHANGE = Struct("<HI?")
_MIRRORED = Struct("<QqHII")
_COPIED = Struct("<HHQHII")
_SEQUENCE = Struct("<Q")
_FIRED = Struct("<QB")


def encode(entry: Entry) -> bytes:
    """Return the bytes of an entry."""
    kind = _KINDS[type(entry)]
    return b"".join([_HEAD.pack(VERSION, kind, entry.time), *_WRITERS[kind](entry)])


def encode_publishes(time: int, run: list[Publish]) -> bytes:
    """Return the bytes of a `Publishes`; this is the hot path of `encode`."""
    table = array("I")
    parts = [b"", b""]
    last = b""
    for subject, reply, header_size, size, tail in run:
        if subject == last:
            table.extend((0, len(reply), header_size, size))
        else:
            table.extend((len(subject), len(reply), header_size, size))
            parts.append(subject)
            last = subject
        parts.append(reply)
        parts.append(tail[-size - 2 :])
    if sys.byteorder == "big":
        table.byteswap()
    parts[0] = _HEAD.pack(VERSION, 1, time) + _COUNT.pack(len(run))
    parts[1] = table.tobytes()
    return b"".join(parts)


def begins(data: bytes) -> bool:
    """Return whether the bytes of an entry are those of a `ResetStream`, without decoding them."""
    return data[1:2] == b"\r"


def decode(data: bytes) -> Entry:
    """Return the entry that the bytes encode. Raises StreamEntryError if they encode none."""
    try:
        version, kind, time = _HEAD.unpack_from(data)
        if version != VERSION or kind not in _READERS:
            raise StreamEntryError(f"entry of version {version}, kind {kind}")
        return _READERS[kind](data, time)
    except (error, UnicodeDecodeError, IndexError) as cause:
        raise StreamEntryError(f"not an entry: {cause}") from cause


class _Cursor:
    """A position in the bytes of an entry; reading past the end raises StreamEntryError or struct.error."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = _HEAD.size

    def numbers(self, layout: Struct) -> tuple[Any, ...]:
        found = layout.unpack_from(self._data, self._at)
        self._at += layout.size
        return found

    def take(self, size: int) -> bytes:
        end = self._at + size
        if end > len(self._data):
            raise StreamEntryError("an entry is cut off")
        found = self._data[self._at : end]
        self._at = end
        return found

    def text(self, size: int) -> str:
        return self.take(size).decode("utf-8", "surrogateescape")

    def rest(self) -> bytes:
        return self.take(len(self._data) - self._at)

    def end(self) -> None:
        if self._at != len(self._data):
            raise StreamEntryError("an entry has more than it should")


def _raw(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _write_publishes(entry: Publishes | PublishBatch) -> list[bytes]:
    return [encode_publishes(entry.time, entry.run)[_HEAD.size :]]


def _read_publishes(data: bytes) -> list[Publish]:
    (count,) = _COUNT.unpack_from(data, _HEAD.size)
    at = _HEAD.size + _COUNT.size
    table = array("I")
    end = at + 4 * table.itemsize * count
    if end > len(data):
        raise StreamEntryError("an entry is cut off")
    table.frombytes(data[at:end])
    if sys.byteorder == "big":
        table.byteswap()
    at = end
    run: list[Publish] = []
    subject = b""
    figures = iter(table)
    for length, reply_size, header_size, size in zip(figures, figures, figures, figures, strict=True):
        if length:
            subject = data[at : at + length]
            at += length
        body = at + reply_size
        end = body + size + 2
        run.append((subject, data[at:body], header_size, size, data[body:end]))
        at = end
    if at != len(data):
        raise StreamEntryError("an entry has another length than it says")
    return run


def _read_delete(data: bytes, time: int) -> DeleteMsg:
    cursor = _Cursor(data)
    sequence, erase = cursor.numbers(_DELETE)
    cursor.end()
    return DeleteMsg(time, sequence, erase)


def _read_purge(data: bytes, time: int) -> Purge:
    cursor = _Cursor(data)
    up_to, keep = cursor.numbers(_PURGE)
    subject = cursor.rest().decode("utf-8", "surrogateescape")
    return Purge(time, subject, up_to, keep)


def _read_add_consumer(data: bytes, time: int) -> AddConsumer:
    cursor = _Cursor(data)
    created, size = cursor.numbers(_ADD_CONSUMER)
    name = cursor.text(size)
    return AddConsumer(time, created, name, cursor.rest())


def _read_change(data: bytes, time: int) -> ConsumerDelta:
    cursor = _Cursor(data)
    size, base, whole = cursor.numbers(_CHANGE)
    name = cursor.text(size)
    return ConsumerDelta(time, name, base, whole, cursor.rest())


def _write_mirrored(entry: MirroredMsgs) -> list[bytes]:
    parts = [_COUNT.pack(len(entry.messages))]
    for sequence, time, subject, header, body in entry.messages:
        raw = _raw(subject)
        parts += (_MIRRORED.pack(sequence, time, len(raw), len(header), len(body)), raw, header, body)
    return parts


def _read_mirrored(data: bytes, time: int) -> MirroredMsgs:
    cursor = _Cursor(data)
    (count,) = cursor.numbers(_COUNT)
    messages = []
    for _ in range(count):
        sequence, stored, subject, header, body = cursor.numbers(_MIRRORED)
        messages.append((sequence, stored, cursor.text(subject), cursor.take(header), cursor.take(body)))
    cursor.end()
    return MirroredMsgs(time, messages)


def _write_copied(entry: SourcedMsgs) -> list[bytes]:
    parts = [_COUNT.pack(len(entry.messages))]
    for index, identity, sequence, subject, header, body in entry.messages:
        names = [_raw(index), _raw(identity), _raw(subject)]
        sizes = (len(names[0]), len(names[1]), sequence, len(names[2]), len(header), len(body))
        parts += (_COPIED.pack(*sizes), *names, header, body)
    return parts


def _read_copied(data: bytes, time: int) -> SourcedMsgs:
    cursor = _Cursor(data)
    (count,) = cursor.numbers(_COUNT)
    messages = []
    for _ in range(count):
        index, identity, sequence, subject, header, body = cursor.numbers(_COPIED)
        names = (cursor.text(index), cursor.text(identity), sequence, cursor.text(subject))
        messages.append((*names, cursor.take(header), cursor.take(body)))
    cursor.end()
    return SourcedMsgs(time, messages)


def _write_fired(entry: FireSchedules) -> list[bytes]:
    parts = [_COUNT.pack(len(entry.fired))]
    for sequence, following in entry.fired:
        raw = _raw(following)
        parts += (_FIRED.pack(sequence, len(raw)), raw)
    return parts


def _read_fired(data: bytes, time: int) -> FireSchedules:
    cursor = _Cursor(data)
    (count,) = cursor.numbers(_COUNT)
    fired = []
    for _ in range(count):
        sequence, size = cursor.numbers(_FIRED)
        fired.append((sequence, cursor.text(size)))
    cursor.end()
    return FireSchedules(time, fired)


def _read_expire(data: bytes, time: int) -> Expire:
    what = _Cursor(data).rest()
    if what not in (b"\x01", b"\x02"):
        raise StreamEntryError("nothing that can expire")
    return Expire(time, what[0])


def _read_skip(data: bytes, time: int) -> Skip:
    cursor = _Cursor(data)
    (last,) = cursor.numbers(_SEQUENCE)
    cursor.end()
    return Skip(time, last)


_KINDS: dict[type[Any], int] = {
    Publishes: 1,
    DeleteMsg: 2,
    Purge: 3,
    Expire: 4,
    Configure: 5,
    AddConsumer: 6,
    RemoveConsumer: 7,
    ConsumerDelta: 8,
    MirroredMsgs: 9,
    SourcedMsgs: 10,
    Skip: 11,
    ForgetSource: 12,
    ResetStream: 13,
    PublishBatch: 14,
    FireSchedules: 15,
}
_WRITERS: dict[int, Callable[[Any], list[bytes]]] = {
    1: _write_publishes,
    2: lambda entry: [_DELETE.pack(entry.sequence, entry.erase)],
    3: lambda entry: [_PURGE.pack(entry.up_to, entry.keep), _raw(entry.subject)],
    4: lambda entry: [bytes([entry.what])],
    5: lambda entry: [entry.config],
    6: lambda entry: [
        _ADD_CONSUMER.pack(entry.created, len(_raw(entry.name))),
        _raw(entry.name),
        entry.config,
    ],
    7: lambda entry: [_raw(entry.name)],
    8: lambda entry: [
        _CHANGE.pack(len(_raw(entry.name)), entry.base, entry.whole),
        _raw(entry.name),
        entry.change,
    ],
    9: _write_mirrored,
    10: _write_copied,
    11: lambda entry: [_SEQUENCE.pack(entry.last)],
    12: lambda entry: [_raw(entry.source)],
    13: lambda entry: [entry.config],
    14: _write_publishes,
    15: _write_fired,
}
_READERS: dict[int, Callable[[bytes, int], Entry]] = {
    1: lambda data, time: Publishes(time, _read_publishes(data)),
    2: _read_delete,
    3: _read_purge,
    4: _read_expire,
    5: lambda data, time: Configure(time, _Cursor(data).rest()),
    6: _read_add_consumer,
    7: lambda data, time: RemoveConsumer(time, _Cursor(data).rest().decode("utf-8", "surrogateescape")),
    8: _read_change,
    9: _read_mirrored,
    10: _read_copied,
    11: _read_skip,
    12: lambda data, time: ForgetSource(time, _Cursor(data).rest().decode("utf-8", "surrogateescape")),
    13: lambda data, time: ResetStream(time, _Cursor(data).rest()),
    14: lambda data, time: PublishBatch(time, _read_publishes(data)),
    15: _read_fired,
}
