"""How a replica that the log cannot help gets messages and state from another one.

`CatchupReceiver` asks for messages after the last it has, piece by piece, while the sender goes on; at last
the sender gives its state, which of the older messages are gone, and the few newer ones, all of one moment.
Messages never change under their sequence, so that what was fetched stays good, from whichever sender, and
also over a restart.

Promises: a record is checked when it leaves (the store's checksum, then its own) and when it arrives; a
sender that has lost a message to damage sends nothing at all; the receiver's store is a replica again only
when figures and state fit, and records that durably in one step. It is pure: bytes in, bytes out.

`CatchupRequests` carries the questions and answers between the members of one group, as letters. Promises:
one question at a time, asked again when no answer comes, of another member then; a member that is not current
refuses at once. Nothing more is asked before an answer is on the disk, so that no more than one answer is
ever under way. A leader asks who is to vote whether it is whole: it has to hold what it votes on.
"""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from itertools import takewhile
from struct import Struct, error
from typing import TYPE_CHECKING

from ....store import record
from ....store.errors import StoreError
from ....store.stream import StreamStore
from . import state as states

if TYPE_CHECKING:
    from ...cluster.transport import RaftTransport
    from .stream import ReplicatedStream

BEGUN = b"\0refill"  # the note of a store that is not a replica yet
PIECE = 512 * 1024  # bytes of messages in one answer, but for one message
_SEED = 0x52464C4C
_ASK = Struct("<BqQI")  # version, created, after, most
_ANSWER = Struct("<BqBQ")  # version, created, kind, after
_FINAL = Struct("<IIQQqQQ")  # sizes of state and of the gone, first, last, last time, messages, bytes
_MORE, _LAST = 1, 2
VERSION = 1

AGAIN = 8  # ticks without an answer
FRESH = 4  # ticks for which a refusal counts, and one more for each who is asked in turn
HOLDS = 16  # ticks for which it counts that somebody is whole
_QUESTION, _REPLY, _REFUSAL, _INQUIRY, _WHOLE = b"?", b"!", b"-", b"=", b"+"


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


class CatchupRequests:
    """The correspondence of one replica.

    answer: gives what another one asks for, or raises CatchupSenderError. answered: takes an answer. peers:
    whom to ask, nodes, the best first. whole: whether this replica lacks nothing.
    """

    def __init__(
        self,
        group: str,
        transport: RaftTransport,
        answer: Callable[[bytes], bytes],
        answered: Callable[[bytes], None],
        peers: Callable[[], list[str]],
        whole: Callable[[], bool],
    ) -> None:
        self._group = group
        self._transport = transport
        self._answer = answer
        self._answered = answered
        self._peers = peers
        self._whole = whole
        self._question = b""
        self._peer = ""
        self._waited = 0
        self._now = 0  # ticks
        self._refused: dict[str, int] = {}  # who cannot help, and when it refused
        self._wholes: dict[str, int] = {}  # who lacks nothing, and when it answered so

    def start(self) -> None:
        """Receive from the others."""
        self._transport.correspond(self._group, self._receive)

    def stop(self) -> None:
        """Receive and ask nothing more."""
        self._transport.end_correspondence(self._group)
        self._question = b""

    def ask(self, question: bytes, *, another: bool = False) -> None:
        """Put a question; the answer goes to `answered`.

        another: not to who answered last, but at the next tick to the next one. A member that was removed
        while it could not be reached does not know that, and would answer for ever from what it has.
        """
        self._question = question
        if another:
            self._waited = AGAIN
        else:
            self._send()

    def rest(self) -> None:
        """Nothing is missing any more."""
        self._question = b""
        self._refused.clear()

    @property
    def hopeless(self) -> bool:
        """Whether all of the others have just refused."""
        peers = self._peers()
        since = self._now - FRESH - len(peers)
        return bool(peers) and all(self._refused.get(peer, since) > since for peer in peers)

    def is_whole(self, node: str) -> bool:
        """Whether a node has answered that it lacks nothing; if not, it is asked."""
        if self._now - self._wholes.get(node, -HOLDS) < HOLDS:
            return True
        self._transport.write(self._group, node, _INQUIRY)
        return False

    def tick(self) -> None:
        """Time passes: ask again, and another one."""
        self._now += 1
        if not self._question:
            return
        self._waited += 1
        if self._waited >= AGAIN or not self._peer or self._peer in self._refused:
            self._turn()
            self._send()

    def _turn(self) -> None:
        """Ask the next one from now on."""
        peers = self._peers()
        at = peers.index(self._peer) + 1 if self._peer in peers else 0
        self._peer = peers[at % len(peers)] if peers else ""

    def _send(self) -> None:
        self._waited = 0
        if not self._peer:
            self._turn()
        if self._peer:
            self._transport.write(self._group, self._peer, _QUESTION + self._question)

    def _receive(self, node: str, letter: bytes) -> None:
        kind, body = letter[:1], letter[1:]
        if kind == _QUESTION:
            try:
                reply = _REPLY + self._answer(body)
            except CatchupSenderError as refusal:
                reply = _REFUSAL + str(refusal).encode()
            self._transport.write(self._group, node, reply)
        elif kind == _INQUIRY:
            if self._whole():
                self._transport.write(self._group, node, _WHOLE)
        elif kind == _WHOLE:
            self._wholes[node] = self._now
        elif kind == _REFUSAL and node == self._peer:
            self._refused[node] = self._now
        elif kind == _REPLY and node == self._peer and self._question:
            self.rest()
            self._answered(body)
