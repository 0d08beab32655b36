"""CatchupReceiver: how a replica that the log cannot help gets messages and state from another one.

The receiver asks for messages after the last it has, piece by piece, while the sender goes on; at last the
sender gives its state, which of the older messages are gone, and the few newer ones, all of one moment.
Messages never change under their sequence, so that what was fetched stays good, from whichever sender, and
also over a restart.

Promises: a record is checked when it leaves (the store's checksum, then its own) and when it arrives; a
sender that has lost a message to damage sends nothing at all; the receiver's store is a replica again only
when figures and state fit, and records that durably in one step. Pure: bytes in, bytes out.
"""

from __future__ import annotations

import zlib
from array import array
from dataclasses import dataclass
from itertools import takewhile
from struct import Struct, error
from typing import TYPE_CHECKING

from ....store import record
from ....store.errors import StoreError
from ....store.stream import StreamStore
from . import state as states

if TYPE_CHECKING:
    from .stream import ReplicatedStream

BEGUN = b"\0refill"  # the note of a store that is not a replica yet
PIECE = 512 * 1024  # bytes of messages in one answer, but for one message
_SEED = 0x52464C4C
_ASK = Struct("<BqQI")  # version, created, after, most
_ANSWER = Struct("<BqBQ")  # version, created, kind, after
_FINAL = Struct("<IIQQqQQ")  # sizes of state and of the gone, first, last, last time, messages, bytes
_MORE, _LAST = 1, 2
VERSION = 1


class CatchupSenderError(Exception):
    """This replica cannot send: another one has to."""


class CatchupError(Exception):
    """What came is damaged: ask again, or another sender."""


class CatchupMismatchError(CatchupError):
    """What was here before does not fit to what came: begin with an empty store."""


@dataclass(frozen=True, slots=True)
class CatchupFigures:
    """What the store of the sender's moment looks like."""

    first: int
    last: int
    last_time: int
    messages: int
    bytes: int


def _figures(store: StreamStore) -> CatchupFigures:
    return CatchupFigures(store.first_seq, store.last_seq, store.last_time, store.messages, store.bytes)


def answer(stream: ReplicatedStream, ask: bytes) -> bytes:
    """Answer a receiver from a replica that is current. Raises CatchupSenderError, also for what is no
    question.
    """
    try:
        version, created, after, most = _ASK.unpack(ask)
    except error as cause:
        raise CatchupSenderError(f"not a question: {cause}") from cause
    if version != VERSION or created != stream.created:
        raise CatchupSenderError("a question about another stream")
    store = stream.store
    records, size, seq = [], 0, store.next_seq((), after + 1)
    try:
        while seq and size < most:
            message = store.get(seq)
            subject = message.subject.encode("utf-8", "surrogateescape")
            one = record.encode(
                record.MESSAGE,
                seq,
                _SEED,
                time=message.time,
                subject=subject,
                header=message.header,
                body=message.body,
            )
            records.append(one)
            size += len(one)
            seq = store.next_seq((), seq + 1)
    except StoreError as damage:
        raise CatchupSenderError(f"this replica is damaged: {damage}") from damage
    if store.damaged():
        raise CatchupSenderError(f"this replica has lost {len(store.damaged())} messages")
    head = _ANSWER.pack(VERSION, created, _MORE if seq or stream.between else _LAST, after)
    if seq or stream.between:  # its state is of no index: what it is is asked again
        return b"".join([head, *records])
    return b"".join([head, _final(stream, after), *records])


def _final(stream: ReplicatedStream, after: int) -> bytes:
    """The state, the figures, and what is gone of the messages up to `after`."""
    state = states.encode(states.gather(stream))
    store = stream.store
    pairs = array("Q")
    for low, high in takewhile(lambda run: run[0] <= after, store.gaps()):
        pairs.extend((low, min(high, after)))
    gone = zlib.compress(record.pairs_to_bytes(pairs), 1)
    now = _figures(store)
    figures = (now.first, now.last, now.last_time, now.messages, now.bytes)
    check = record.encode(record.STATE, after, _SEED, body=_FINAL.pack(len(state), len(gone), *figures))
    return b"".join([check, record.encode(record.STATE, after, _SEED, body=state + gone)])


class CatchupReceiver:
    """The receiver. state: that of the sender's last moment, once it is here; then `commit`."""

    def __init__(self, store: StreamStore, created: int) -> None:
        """`store` may have messages of an earlier moment of the same stream; a damaged one must be new."""
        self._store = store
        self._created = created
        self.state: states.ReplicaState | None = None
        store.note = BEGUN

    def ask(self, most: int = PIECE) -> bytes:
        """What to ask next."""
        return _ASK.pack(VERSION, self._created, self._store.last_seq, most)

    def take(self, data: bytes) -> bool:
        """Take in an answer; True when it was the last. Raises CatchupError, StoreError.

        An answer to an earlier question is passed by.
        """
        try:
            version, created, kind, after = _ANSWER.unpack_from(data)
        except error as cause:
            raise CatchupError(f"not an answer: {cause}") from cause
        if version != VERSION or created != self._created or kind not in (_MORE, _LAST):
            raise CatchupError("not an answer of this stream")
        if after != self._store.last_seq:
            return False
        if kind == _MORE:
            self._messages(data, _ANSWER.size)
            return False
        self._last(data, after)
        return True

    def _messages(self, data: bytes, at: int) -> None:
        """Check all, then store all."""
        messages = []
        last = self._store.last_seq
        while at < len(data):
            found = record.decode_at(data, at, _SEED)
            if found is None or found.kind != record.MESSAGE or found.seq <= last:
                raise CatchupError(f"a message after {last} arrived damaged")
            messages.append(found)
            last = found.seq
            at += found.length
        for one in messages:
            subject = one.subject.decode("utf-8", "surrogateescape")
            self._store.append_at(one.seq, subject, one.header, one.body, one.time)

    def _last(self, data: bytes, after: int) -> None:
        check = record.decode_at(data, _ANSWER.size, _SEED)
        more = record.decode_at(data, _ANSWER.size + check.length, _SEED) if check is not None else None
        if check is None or more is None:
            raise CatchupError("the state arrived damaged")
        try:
            state_size, _, *figures = _FINAL.unpack(check.body)
            state = states.decode(more.body[:state_size])
            pairs = record.pairs_from_bytes(zlib.decompress(more.body[state_size:]))
        except (error, zlib.error, ValueError) as cause:
            raise CatchupError(f"the state cannot be read: {cause}") from cause
        self._messages(data, _ANSWER.size + check.length + more.length)
        store, wanted = self._store, CatchupFigures(*figures)
        store.purge(up_to=wanted.first or 1)
        for low, high in zip(pairs[::2], pairs[1::2], strict=True):
            seq = store.next_seq((), low)
            while 0 < seq <= min(high, after):
                store.remove(seq)
                seq = store.next_seq((), seq + 1)
        store.skip_to(wanted.last)
        store.last_time = wanted.last_time
        if _figures(store) != wanted:
            raise CatchupMismatchError(f"what is here ({_figures(store)}) is not what is there ({wanted})")
        self.state = state
        store.note = states.encode(state)
