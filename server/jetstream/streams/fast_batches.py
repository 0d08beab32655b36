"""FastBatches: long batches whose messages are stored as they come, while the stream sets the pace.

The reply subject of each message says its batch, its place in it and what it asks for:
`<prefix>.<batch>.<flow>.<gap>.<place>.<operation>.$FI`. The stream says how many messages may follow before
it answers again, which is more the fewer batches are open.

Promises:
- What an acknowledgement of the flow names is as safe as an acknowledged publish.
- In a batch that allows no gaps nothing is stored after a message that is missing or refused: the batch ends,
  and its last answer says how far it came.
- The result depends on the publishes and the time alone, so that it is the same on every replica.

Source: ADR-50; nats-server's server/stream.go: processJetStreamFastBatchMsg.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ....protocol import headers
from ....protocol.errors import ApiError, api_error
from ....protocol.lazy_dataclass import dataclass
from ....protocol.reserved import FAST_BATCH
from ..host import serves_level
from .dedupe import Duplicate

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....protocol.api.stream import StreamConfig
    from ..host import BatchCapacity
    from .commit import Answer
    from .contents import StreamContents

SUFFIX = FAST_BATCH.encode()
START, APPEND, COMMIT, END, PING = range(5)  # END commits without a message of its own
LEVEL = b"Nats-Required-Api-Level"
MAX_ID = 64  # bytes
MOST_FLOW = 500  # messages between two answers
DEFAULT_FLOW = 10
_UNSIGNED = (1 << 64) - 1


class FastIngest(Protocol):
    """What a fast batch needs of its stream. ack: an acknowledgement up to the sequence."""

    ack: bytes

    def store(self, subject: str, header: bytes, body: bytes) -> int:
        """Store a message; return its sequence. Raises Duplicate and ApiError."""

    def refusal(self, error: Exception) -> bytes:
        """Return the answer for an error."""


class FastPublish(NamedTuple):
    """What a reply subject says. flow: messages between answers, as the client wants it."""

    batch: str
    flow: int
    gap_ok: bool
    place: int
    kind: int


def begins(reply: bytes) -> bool:
    """Return whether a reply subject is that of the first message of a batch."""
    operation = read(reply) if reply.endswith(SUFFIX) else None
    return operation is not None and operation.place == 1


def check(config: StreamConfig, size: int) -> None:
    """Check what concerns one message alone, of so many bytes. Raises ApiError."""
    if config.sealed:
        raise api_error("JSStreamSealedErr")
    if 0 <= config.max_msg_size < size:
        raise api_error("JSStreamMessageExceedsMaximumErr")
    if not config.allow_batched:
        raise api_error("JSBatchPublishDisabledErr")


def read(reply: bytes) -> FastPublish | None:
    """Read a reply subject that ends with `SUFFIX`; None if it is not of the form."""
    parts = reply.rsplit(b".", 6)
    if len(parts) != 7:
        return None
    _, batch, flow, gap, place, kind, _ = parts
    if not (kind.isdigit() and len(kind) == 1 and int(kind) <= PING and gap in {b"ok", b"fail"}):
        return None
    number = int(place) if place.isdigit() and len(place) <= 20 else 0
    operation = int(kind)
    if not 0 < number < _UNSIGNED or (number == 1 and operation == END):
        return None
    if (operation == START and number != 1) or (operation == APPEND and number == 1):
        return None
    wanted = min(int(flow), 0xFFFF) if flow.isdigit() and len(flow) <= 18 else 0
    return FastPublish(
        batch.decode("utf-8", "replace"), wanted or DEFAULT_FLOW, gap == b"ok", number, operation
    )


@dataclass(slots=True)
class FastBatch:
    """One open batch.

    last: the place of its last message.
    sequence: of the message stored last, 0 for none.
    reported: the place that the last answer named.
    every: messages between two answers; most: as many as the client allows.
    touched: when the last message came, ns.
    """

    batch: str
    gap_ok: bool
    every: int
    most: int
    touched: int
    last: int = 0
    sequence: int = 0
    reported: int = 0


class FastBatches:
    """The open fast batches of one stream. send: publishes answers, each (reply, body)."""

    def __init__(
        self,
        ingest: FastIngest,
        contents: StreamContents,
        send: Callable[[list[Answer]], None],
        capacity: BatchCapacity,
    ) -> None:
        self._ingest = ingest
        self._contents = contents
        self._send = send
        self._capacity = capacity
        self._open: dict[str, FastBatch] = {}

    def to_json(self) -> list[dict[str, Any]]:
        """Return the open batches, for `load`."""
        return [asdict(batch) for batch in self._open.values()]

    def load(self, documents: list[dict[str, Any]]) -> None:
        """Take in what `to_json` returned."""
        self.clear()
        self._open = {one["batch"]: FastBatch(**one) for one in documents}
        self._capacity.fast.count(self, len(self._open))

    def clear(self) -> None:
        """Forget all batches."""
        self._open = {}
        self._capacity.fast.count(self, 0)

    def live(self, now: int) -> int:
        """Return how many batches something was added to within the time limit."""
        oldest = now - self._capacity.timeout
        return sum(one.touched > oldest for one in self._open.values())

    def _forget(self, *names: str) -> None:
        for name in names:
            del self._open[name]
        self._capacity.fast.count(self, len(self._open))

    def receive(self, subject: str, reply: bytes, header: bytes, body: bytes, now: int) -> None:
        """Take one message at `now` (ns), and see that it is answered."""
        try:
            check(self._contents.config, len(header) + len(body))
            operation = read(reply)
            if operation is None:
                raise api_error("JSBatchPublishInvalidPatternErr")
            batch = self._batch_of(operation, now)
            if not serves_level(header):
                self._forget(batch.batch)
                raise api_error("JSRequiredApiLevelErr")
        except ApiError as error:
            self._say(reply, self._ingest.refusal(error))
            return
        batch.touched = now
        if operation.kind == PING:
            self._ping(batch, operation, reply)
        elif self._is_next(batch, operation, reply):
            if operation.kind == END:
                batch.last -= 1
                self._commit(batch, reply)
            else:
                self._store(batch, operation, subject, reply, headers.remove(header, (LEVEL,)), body)

    def _batch_of(self, operation: FastPublish, now: int) -> FastBatch:
        """Return the batch, a new one for its first message. Raises ApiError."""
        if len(operation.batch.encode("utf-8", "replace")) > MAX_ID:
            raise api_error("JSBatchPublishInvalidBatchIDErr")
        oldest = now - self._capacity.timeout
        batch = self._open.get(operation.batch)
        if batch is not None and batch.touched > oldest:
            return batch
        self._forget(*[name for name, one in self._open.items() if one.touched <= oldest])
        if operation.place != 1:
            raise api_error("JSBatchPublishUnknownBatchIDErr")
        full = self._contents.deps.alone and self._capacity.fast.full(now)
        if full or len(self._open) >= self._capacity.max_fast_of_stream:
            raise api_error("JSBatchPublishTooManyInflight")
        every = 1 if self._open else min(MOST_FLOW, operation.flow)
        batch = FastBatch(operation.batch, operation.gap_ok, every, operation.flow, now)
        self._open[operation.batch] = batch
        self._capacity.fast.count(self, len(self._open))
        return batch

    def _ping(self, batch: FastBatch, operation: FastPublish, reply: bytes) -> None:
        """Say how far the batch came, and whether messages are missing."""
        if operation.place > batch.last:
            self._report_gap(reply, batch.last + 1, operation.place + 1)
            if not batch.gap_ok:
                self._commit(batch, reply)
                return
            batch.last = operation.place
            if self._follow_flow(batch, reply):
                return
        self._report_flow(batch, reply)

    def _is_next(self, batch: FastBatch, operation: FastPublish, reply: bytes) -> bool:
        """Move on to a message; return False if it is not the next one, which ends a batch without gaps."""
        following = batch.last + 1
        if operation.place != following:
            self._report_gap(reply, following, operation.place)
            if operation.place < following or not batch.gap_ok:
                self._commit(batch, reply)
                return False
        batch.last = operation.place
        return True

    def _store(
        self, batch: FastBatch, operation: FastPublish, subject: str, reply: bytes, header: bytes, body: bytes
    ) -> None:
        commits = operation.kind == COMMIT
        if operation.place == 1 and not commits:
            self._say(reply, _flow(0, batch.every))
        try:
            batch.sequence = self._ingest.store(subject, header, body)
        except Duplicate as duplicate:
            self._duplicate(batch, reply, duplicate, commits=commits)
        except ApiError as error:
            self._refused(batch, reply, error, commits=commits)
        else:
            if commits:
                self._commit(batch, reply)
            else:
                self._follow_flow(batch, reply)

    def _duplicate(self, batch: FastBatch, reply: bytes, duplicate: Duplicate, *, commits: bool) -> None:
        if not commits:
            self._follow_flow(batch, reply)
        elif batch.last == 1 and not batch.gap_ok:
            self._forget(batch.batch)
            more = b',"duplicate": true,"batch":%b,"count":1' % json.dumps(batch.batch).encode()
            self._acknowledge(reply, duplicate.sequence, more)
        else:
            self._commit(batch, reply)

    def _refused(self, batch: FastBatch, reply: bytes, error: ApiError, *, commits: bool) -> None:
        if batch.last == 1 and not batch.gap_ok:
            self._forget(batch.batch)
            self._say(reply, self._ingest.refusal(error))
            return
        document = {"type": "err", "seq": batch.last, "error": error.to_json()}
        self._say(reply, json.dumps(document, separators=(",", ":")).encode())
        if commits or not batch.gap_ok:
            batch.last -= 1
            self._commit(batch, reply)

    def _commit(self, batch: FastBatch, reply: bytes) -> None:
        """End a batch with what it has."""
        self._forget(batch.batch)
        more = b',"batch":%b,"count":%d' % (json.dumps(batch.batch).encode(), batch.last)
        self._acknowledge(reply, batch.sequence, more)

    def _follow_flow(self, batch: FastBatch, reply: bytes) -> bool:
        """Say how far the batch came if that is due, and change its pace; return whether it was."""
        if batch.last < batch.reported + batch.every:
            return False
        batch.reported += (batch.last - batch.reported) // batch.every * batch.every
        most = min(max(MOST_FLOW // len(self._open), 1), batch.most)
        if batch.every < most:
            batch.every = min(batch.every * 2, most)
        elif batch.every > most:
            batch.every = max(batch.every // 2, most)
        self._report_flow(batch, reply)
        return True

    def _report_flow(self, batch: FastBatch, reply: bytes) -> None:
        self._later(reply, _flow(batch.reported, batch.every))

    def _report_gap(self, reply: bytes, first: int, place: int) -> None:
        self._say(reply, b'{"type":"gap","last_seq":%d,"seq":%d}' % (first, place))

    def _acknowledge(self, reply: bytes, sequence: int, more: bytes) -> None:
        self._later(reply, b"%b%d%b}" % (self._ingest.ack, sequence, more))

    def _later(self, reply: bytes, answer: bytes) -> None:
        """Answer once all that is stored is safe."""
        queue = self._contents.ack_queue
        queue.answers.append((reply, answer))
        if queue.idle:
            queue.wake()

    def _say(self, reply: bytes, answer: bytes) -> None:
        """Answer at once."""
        self._send([(reply, answer)])


def _flow(place: int, every: int) -> bytes:
    return b'{"type":"ack","seq":%d,"msgs":%d}' % (place, every)
