"""How a replica that is behind the beginning of the log gets messages and state from another replica.

`CatchupReceiver` asks for the messages after its last one, piece by piece, while the sender goes on working.
The last answer contains the sender's state, which of the older messages are gone, and the few newer messages,
all as of one moment. A message never changes under its sequence. What was fetched therefore stays valid,
whichever replica sends the rest, and also after a restart.

Promises:
- A record is checked when it leaves (by the store's checksum, then by its own) and when it arrives.
- A sender that has lost a message to damage sends nothing at all.
- The receiver's store becomes a replica again only when figures and state agree, and records that durably in
  one step.
- The receiver does no I/O of its own: it takes and returns bytes.

`CatchupRequests` carries questions and answers between the members of one group, as messages of the group's
application (`RaftTransport.send_application`).

Promises:
- The bytes of all answers of a server that are under way have a bound (`CatchupBudget`).
- One question is open at a time. A question without an answer is asked again, of another member.
- A member that is not current refuses at once.
- The next question is sent only when the last answer is on the disk, so that no more than one answer is ever
  under way.
- Before a member may vote, the leader asks it whether it is whole, because a voter has to hold what it votes
  on.
"""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Callable
from itertools import takewhile
from struct import Struct, error
from typing import TYPE_CHECKING

from ....protocol.lazy_dataclass import dataclass
from ....store import record
from ....store.errors import StoreError
from ....store.stream import StreamStore
from ...cluster.ticker import TICK
from ..catchup_budget import PATIENCE
from . import state as states

if TYPE_CHECKING:
    from ...cluster.transport import RaftTransport
    from ..catchup_budget import CatchupBudget
    from .stream import ReplicatedStream

BEGUN = b"\0refill"  # the note of a store that is not a replica yet
PIECE = 512 * 1024  # bytes of messages in one answer; the last message may exceed it
_SEED = 0x52464C4C
_ASK = Struct("<BqQI")  # version, created, after, most
_ANSWER = Struct("<BqBQ")  # version, created, kind, after
_FINAL = Struct("<IIQQqQQ")  # sizes of state and gaps; first, last, last time, messages, bytes
_MORE, _LAST = 1, 2
VERSION = 1

AGAIN = PATIENCE // TICK  # ticks after which a question without an answer is asked again
FRESH = 4  # ticks for which a refusal counts, plus one for each member that is asked in turn
HOLDS = 16  # ticks for which the answer counts that a member is whole
_QUESTION, _REPLY, _REFUSAL, _INQUIRY, _WHOLE = b"?", b"!", b"-", b"=", b"+"


class CatchupSenderError(Exception):
    """This replica cannot send messages and state: another one has to."""


class CatchupError(Exception):
    """The answer is damaged: ask again, or ask another sender."""


class CatchupMismatchError(CatchupError):
    """The messages that were here before do not agree with the sender's: begin with an empty store."""


@dataclass(frozen=True, slots=True)
class CatchupFigures:
    """The figures of the sender's store at the moment of its state: sequences, ns and bytes."""

    first: int
    last: int
    last_time: int
    messages: int
    bytes: int


def _figures(store: StreamStore) -> CatchupFigures:
    return CatchupFigures(store.first_seq, store.last_seq, store.last_time, store.messages, store.bytes)


def answer(stream: ReplicatedStream, ask: bytes) -> bytes:
    """Return the answer of a current replica to a receiver's question.

    Raises CatchupSenderError if the replica is damaged, or if `ask` is not a question about this stream.
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
    if seq or stream.between:  # within an entry the state has no index: the receiver asks again
        return b"".join([head, *records])
    return b"".join([head, _final(stream, after), *records])


def _final(stream: ReplicatedStream, after: int) -> bytes:
    """Return the end of the last answer: figures, state, and the gaps in the messages up to `after`."""
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
    """Fills a store with what another replica sends.

    state: the sender's state at the last moment, None until it is here; then the store is ready for a commit.
    """

    def __init__(self, store: StreamStore, created: int) -> None:
        """`store` may hold messages of an earlier moment of the stream, but no damaged ones."""
        self._store = store
        self._created = created
        self.state: states.ReplicaState | None = None
        store.note = BEGUN

    def ask(self, most: int = PIECE) -> bytes:
        """Return the next question, for at most about `most` bytes of messages."""
        return _ASK.pack(VERSION, self._created, self._store.last_seq, most)

    def take(self, data: bytes) -> bool:
        """Take in an answer, and return True if it was the last one. An answer to an earlier question is
        ignored.

        Raises CatchupError if the answer is damaged, CatchupMismatchError if only an empty store can help,
        StoreError if the store fails.
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
        """Store the messages from `at` on, but only after all of them were checked."""
        messages = []
        last = self._store.last_seq
        while at < len(data):
            found = record.decode_at(data, at, _SEED)
            if found is None or found.kind != record.MESSAGE or found.seq <= last:
                raise CatchupError(f"a message after {last} arrived damaged")
            messages.append(found)
            last = found.seq
            at += found.length
        if messages:
            seqs = array("Q", [one.seq for one in messages])
            times = array("q", [one.time for one in messages])
            parts = [
                (one.subject.decode("utf-8", "surrogateescape"), one.header, one.body) for one in messages
            ]
            self._store.append_each(parts, seqs, times)

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
    """The questions and answers of one replica.

    answer: returns the answer to another replica's question, or raises CatchupSenderError.
    answered: takes an answer to this replica's question.
    peers: returns the nodes to ask, the best first.
    whole: returns whether this replica lacks nothing.
    budget: the server's, for answers.
    """

    def __init__(
        self,
        group: str,
        transport: RaftTransport,
        answer: Callable[[bytes], bytes],
        answered: Callable[[bytes], None],
        peers: Callable[[], list[str]],
        whole: Callable[[], bool],
        budget: CatchupBudget,
    ) -> None:
        self._group = group
        self._transport = transport
        self._answer = answer
        self._answered = answered
        self._peers = peers
        self._whole = whole
        self._budget = budget
        self._question = b""
        self._peer = ""
        self._waited = 0
        self._now = 0  # ticks
        self._refused: dict[str, int] = {}  # node -> the tick of its last refusal
        self._wholes: dict[str, int] = {}  # node -> the tick at which it last answered that it is whole

    def start(self) -> None:
        """Begin to receive messages from the other members."""
        self._transport.subscribe_application(self._group, self._receive)

    def stop(self) -> None:
        """Receive no more messages, and drop the open question."""
        self._transport.unsubscribe_application(self._group)
        self._budget.left(self._group)
        self._question = b""

    def ask(self, question: bytes, *, another: bool = False) -> None:
        """Ask a question; its answer goes to `answered`.

        another: ask the next member, at the next tick, instead of the one that answered last. A member that
            was removed from the group while it could not be reached does not know that, and would answer for
            ever from what it has.
        """
        self._question = question
        if another:
            self._waited = AGAIN
        else:
            self._send()

    def rest(self) -> None:
        """Drop the open question: nothing is missing any more."""
        self._question = b""
        self._refused.clear()

    @property
    def hopeless(self) -> bool:
        """Whether all other members have refused within the last ticks."""
        peers = self._peers()
        since = self._now - FRESH - len(peers)
        return bool(peers) and all(self._refused.get(peer, since) > since for peer in peers)

    def is_whole(self, node: str) -> bool:
        """Return whether a node answered lately that it lacks nothing; if it did not, ask it."""
        if self._now - self._wholes.get(node, -HOLDS) < HOLDS:
            return True
        self._transport.send_application(self._group, node, _INQUIRY)
        return False

    def tick(self) -> None:
        """Count a tick, and ask another member if there was no answer or a refusal."""
        self._now += 1
        if not self._question:
            return
        self._waited += 1
        if self._waited >= AGAIN or not self._peer or self._peer in self._refused:
            self._choose_peer()
            self._send()

    def _choose_peer(self) -> None:
        """Choose the next member to ask."""
        peers = self._peers()
        at = peers.index(self._peer) + 1 if self._peer in peers else 0
        self._peer = peers[at % len(peers)] if peers else ""

    def _send(self) -> None:
        self._waited = 0
        if not self._peer:
            self._choose_peer()
        if self._peer:
            self._transport.send_application(self._group, self._peer, _QUESTION + self._question)

    def _reply(self, node: str, question: bytes) -> int:
        """Answer a question, and return the bytes of the answer; 0 for a refusal."""
        try:
            found = self._answer(question)
        except CatchupSenderError as refusal:
            self._transport.send_application(self._group, node, _REFUSAL + str(refusal).encode())
            return 0
        self._transport.send_application(self._group, node, _REPLY + found)
        return len(found)

    def _receive(self, node: str, message: bytes) -> None:
        kind, body = message[:1], message[1:]
        if kind == _QUESTION:
            self._budget.asked((self._group, node), lambda: self._reply(node, body))
        elif kind == _INQUIRY:
            if self._whole():
                self._transport.send_application(self._group, node, _WHOLE)
        elif kind == _WHOLE:
            self._wholes[node] = self._now
        elif kind == _REFUSAL and node == self._peer:
            self._refused[node] = self._now
        elif kind == _REPLY and node == self._peer and self._question:
            self.rest()
            self._answered(body)
