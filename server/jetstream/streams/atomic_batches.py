"""AtomicBatches: gathers the messages of atomic batches until they are committed.

Promises:
- Nothing of a batch is stored before all of it is here: `commit` gets it as one run.
- A batch with a gap, too many messages or too many bytes, or one that is not continued, is abandoned whole,
  and an advisory says so.
- Memory is bounded: the batches, messages and bytes of a stream and of the server are (`BatchCapacity`).
- A batch that is not committed ends with the stream's leadership and with the server.

Source: ADR-50.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING

from ....protocol import headers
from ....protocol.errors import ApiError, api_error
from ....protocol.lazy_dataclass import dataclass
from .. import advisories
from ..host import serves_level
from .batch_headers import COMMIT, ID, place_of

if TYPE_CHECKING:
    from ...accounts.account import Account
    from ...accounts.subscription import Publish
    from ...clock import Timer
    from ..host import BatchCapacity, JetStreamHost
    from .contents import StreamContents

LEVEL = b"Nats-Required-Api-Level"
MAX_ID = 64  # bytes

Store = Callable[["list[Publish]"], None]


class _Abandoned(Exception):  # noqa: N818 - an outcome
    """The batch ends here. reason: for the advisory; "" for none."""

    def __init__(self, error: ApiError, reason: str) -> None:
        super().__init__(error)
        self.error = error
        self.reason = reason


@dataclass(slots=True, eq=False)
class _Batch:
    """A batch that is not committed yet.

    messages: its messages, in order.
    size: their bytes.
    touched: when the last one came, ns.
    """

    messages: list[Publish] = field(default_factory=list)
    size: int = 0
    touched: int = 0
    timer: Timer | None = None


class AtomicBatches:
    """The open batches of one stream."""

    def __init__(
        self,
        contents: StreamContents,
        account: Account,
        host: JetStreamHost,
        answer: Callable[[bytes, bytes], None],
        refusal: Callable[[Exception], bytes],
        commit: Store,
    ) -> None:
        """answer: publishes (reply, body). refusal: makes the answer for an error. commit: takes a batch."""
        self._contents = contents
        self._account = account
        self._host = host
        self._capacity: BatchCapacity = host.batches
        self._answer = answer
        self._refusal = refusal
        self._commit = commit
        self._open: dict[bytes, _Batch] = {}

    def receive(self, publish: Publish) -> None:
        """Take one message of a batch, and see that it is answered."""
        reply = publish[1] if not self._contents.config.no_ack else b""
        tail, size = publish[4], publish[3]
        start = len(tail) - 2 - size
        header = tail[start : start + publish[2]]
        identifier = headers.get(header, ID) or b""
        try:
            self._check(publish, identifier)
            whole = self._add(publish, header, identifier)
        except _Abandoned as abandoned:
            self._end(identifier)
            if abandoned.reason:
                self._advise(identifier, abandoned.reason)
            error: ApiError | None = abandoned.error
        except ApiError as refused:
            error = refused
        else:
            if whole is not None:
                self._commit(whole)
            elif reply:
                self._answer(reply, b"")
            return
        if reply and error is not None:
            self._answer(reply, self._refusal(error))

    def _check(self, publish: Publish, identifier: bytes) -> None:
        """Check what concerns one message alone. Raises ApiError."""
        config, quota, size = self._contents.config, self._contents.deps.quota, publish[3]
        if config.sealed:
            raise api_error("JSStreamSealedErr")
        if quota.guarded:
            subject = publish[0].decode("utf-8", "surrogateescape")
            stored = self._contents.store.size_of(subject, publish[2], size - publish[2])
            if (refusal := quota.refusal(stored)) is not None:
                raise refusal
        if 0 <= config.max_msg_size < size:
            raise api_error("JSStreamMessageExceedsMaximumErr")
        if len(identifier) > MAX_ID:
            raise api_error("JSAtomicPublishInvalidBatchIDErr")

    def _add(self, publish: Publish, header: bytes, identifier: bytes) -> list[Publish] | None:
        """Add a message to its batch; return the batch if that commits it. Raises ApiError and _Abandoned."""
        place, commit = place_of(header), headers.get(header, COMMIT)
        if place < 0:
            raise api_error("JSAtomicPublishMissingSeqErr")
        counted = place - 1 if commit == b"eob" else place  # messages, including this one
        batch = self._open.get(identifier)
        if batch is None:
            batch = self._begin(identifier, place, counted)
        if commit not in {None, b"1", b"eob"}:
            raise _Abandoned(api_error("JSAtomicPublishInvalidBatchCommitErr"), "")
        if not serves_level(header):
            raise _Abandoned(api_error("JSRequiredApiLevelErr"), "unsupported")
        if place != len(batch.messages) + 1 or counted == 0:
            raise _Abandoned(api_error("JSAtomicPublishIncompleteBatchErr"), "incomplete")
        if counted > self._capacity.max_msgs:
            raise _Abandoned(self._too_large(), "large")
        subject, reply, header_size, size, tail = publish
        body = tail[len(tail) - 2 - size + header_size :]
        header = headers.remove(header, (LEVEL,))
        if commit is None:
            self._reserve(batch, size)
            batch.messages.append(_message(subject, b"", header, body))
            batch.touched = self._host.clock.now()
            return None
        whole = self._end(identifier)
        if commit == b"eob":  # the message before this one is the last of the batch
            subject, _, header_size, _, tail = whole.pop()
            header, body = headers.add(tail[:header_size], COMMIT, b"1"), tail[header_size:]
        whole.append(_message(subject, reply, header, body))
        return whole

    def _begin(self, identifier: bytes, place: int, counted: int) -> _Batch:
        capacity = self._capacity
        if place != 1:
            if counted > capacity.max_msgs:
                raise self._too_large()
            raise api_error("JSAtomicPublishIncompleteBatchErr")
        if len(self._open) >= capacity.max_of_stream or capacity.open >= capacity.max_open:
            raise api_error("JSAtomicPublishTooManyInflight")
        batch = self._open[identifier] = _Batch(touched=self._host.clock.now())
        capacity.open += 1
        batch.timer = self._host.clock.call_later(capacity.timeout, lambda: self._due(identifier, batch))
        return batch

    def _reserve(self, batch: _Batch, size: int) -> None:
        """Count the bytes of a message that waits. Raises _Abandoned if there is no room for it."""
        capacity = self._capacity
        if batch.size + size > capacity.max_batch_bytes or capacity.bytes + size > capacity.max_bytes:
            raise _Abandoned(api_error("JSAtomicPublishTooManyInflight"), "large")
        batch.size += size
        capacity.bytes += size

    def _too_large(self) -> ApiError:
        return api_error("JSAtomicPublishTooLargeBatchErrF", size=self._capacity.max_msgs)

    def _due(self, identifier: bytes, batch: _Batch) -> None:
        """Abandon a batch to which nothing was added for too long."""
        left = batch.touched + self._capacity.timeout - self._host.clock.now()
        if left > 0:
            batch.timer = self._host.clock.call_later(left, lambda: self._due(identifier, batch))
            return
        self._end(identifier)
        self._advise(identifier, "timeout")

    def _end(self, identifier: bytes) -> list[Publish]:
        """Forget a batch; return its messages."""
        batch = self._open.pop(identifier, None)
        if batch is None:
            return []
        if batch.timer is not None:
            batch.timer.cancel()
        self._capacity.open -= 1
        self._capacity.bytes -= batch.size
        return batch.messages

    def clear(self) -> None:
        """Forget all batches, because the stream ends, or is no longer led or configured for them."""
        for identifier in list(self._open):
            self._end(identifier)

    def _advise(self, identifier: bytes, reason: str) -> None:
        name = self._contents.name
        fields = {"stream": name, "batch": identifier.decode("utf-8", "replace"), "reason": reason}
        subject = f"STREAM.BATCH_ABANDONED.{name}"
        for account, more in ((self._account, {}), (self._host.system, {"account": self._account.name})):
            if account is not None and (account is not self._account or not more):
                advisories.publish(account, self._host, subject, "stream_batch_abandoned", {**more, **fields})


def _message(subject: bytes, reply: bytes, header: bytes, body: bytes) -> Publish:
    """Return a publish whose tail has nothing but the header and the body with its line end."""
    return subject, reply, len(header), len(header) + len(body) - 2, header + body
