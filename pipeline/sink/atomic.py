"""Publishing a task's rows in atomic batches, each with the mark of how far the task has come: exactly once.

A stream stores an atomic batch whole or not at all (ADR-50). The last message of each is the mark: a message
on the task's own subject, which says how many rows of the write are stored, with a checksum of them. It is
accepted only if the mark before it is still the last one (`Nats-Expected-Last-Subject-Sequence`).

Promises:
- A row is stored once, however often its task is tried, and whenever; no window of time counts.
- Of two attempts that run at the same time, one stores a batch; the other is refused, and goes on after it.
- Rows that are not the same as those of an earlier attempt are an error, found before any more is stored.
"""

from __future__ import annotations

import base64
import contextlib
import json
import secrets
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from ...client import (
    AuthorizationError,
    BlockingConnection,
    ClientError,
    ConnectionOptions,
    NotPermitted,
)
from ...protocol.errors import ApiError
from ..jetstream import JetStreamRequests, may_pass
from ..jetstream.api import NO_MESSAGE
from .errors import RowRejected, SinkError, Unacknowledged
from .frame import Message

ROWS = 900  # of a batch; nats-server takes 1,000 messages
BYTES = 4 << 20
ROOM = 160  # bytes that a message needs for the headers of its batch
PAUSE = 0.2  # seconds before a batch is tried again
ATTEMPT = 1 / 4  # of the time for a batch: how long an answer is awaited; a leader that is killed gives none
WRONG_LAST = frozenset((10071, 10164))
# Errors that pass: unavailable, no leader, too many requests or batches, a batch of which a message was lost.
NO_LEADER = 10008
PASSING = frozenset((NO_LEADER, 10009, 10158, 10167, 10176, 10210))


@dataclass(frozen=True)
class Mark:
    """How far a write has come: `rows` of `batch` are stored, with this checksum.

    sequence: the mark's own, 0 if there is none
    """

    batch: int = -1
    rows: int = 0
    check: int = 0
    sequence: int = 0

    def body(self) -> bytes:
        """Return the mark as the payload of its message."""
        return json.dumps({"batch": self.batch, "rows": self.rows, "check": self.check}).encode()


class AtomicPublisher:
    """Publishes one task's rows, given in the same order at every attempt.

    subject: that of the task's marks
    batch: the number of the streaming query's batch; 0 for a batch write
    called: returns a row's number in words, for errors
    seconds: how long a batch may take to be stored

    Raises SinkError, RowRejected, Unacknowledged, AuthorizationError, NotPermitted.
    """

    def __init__(
        self,
        address: ConnectionOptions,
        *,
        stream: str,
        subject: str,
        batch: int,
        prefix: str,
        called: Callable[[int], str],
        seconds: float,
    ) -> None:
        self._stream, self._subject, self._batch = stream, subject, batch
        self._called, self._seconds = called, seconds
        self._deadline = time.monotonic() + seconds
        self.connection = self._trying(lambda: BlockingConnection.open(address))
        self._api = JetStreamRequests(self.connection, prefix)
        self._waiting: deque[tuple[Message, int]] = deque()  # rows, with the checksum of all up to each
        self._bytes = 0
        self._check = 0
        self.sent = self.duplicates = 0
        self._mark = Mark()
        try:
            self._read_mark()
        except BaseException:
            self.connection.close()
            raise

    def __enter__(self) -> AtomicPublisher:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.connection.close()

    def publish(self, rows: Iterable[Message]) -> None:
        """Store rows, or keep them for the next batch. Rows that the mark counts already are left out."""
        for row in rows:
            self.sent += 1
            for part in row:
                self._check = zlib.crc32(b"%d:" % len(part) + part, self._check)
            if self.sent <= self._mark.rows:
                self.duplicates += 1
                self._compare(self.sent, self._check)
                continue
            self._waiting.append((row, self._check))
            self._bytes += sum(map(len, row))
            if len(self._waiting) >= ROWS or self._bytes >= BYTES:
                self._commit()

    def finish(self) -> None:
        """Store what is left. Raises SinkError if an earlier attempt has stored more rows than there are."""
        if self._waiting:
            self._commit()
        if self.sent < self._mark.rows:
            raise self._changed()

    # -- the mark

    def _read_mark(self) -> None:
        found = self._trying(self._find_mark)
        if found.batch > self._batch:
            raise SinkError(
                f"guarantee exactly-once: stream {self._stream} has batch {found.batch} of this query "
                f"already, and batch {self._batch} is to be written: its checkpoint is older than what it "
                "wrote, or another query has the same one"
            )
        # The mark of an earlier batch counts none of these rows.
        self._mark = found if found.batch == self._batch else Mark(self._batch, 0, 0, found.sequence)

    def _find_mark(self) -> Mark:
        try:
            message = self._api.call(f"STREAM.MSG.GET.{self._stream}", {"last_by_subj": self._subject})[
                "message"
            ]
        except ApiError as error:
            if error.err_code == NO_MESSAGE:
                return Mark()
            raise
        try:
            body = json.loads(base64.b64decode(message.get("data") or ""))
            return Mark(int(body["batch"]), int(body["rows"]), int(body["check"]), int(message["seq"]))
        except (KeyError, TypeError, ValueError):
            raise SinkError(
                f"guarantee exactly-once: the message on {self._subject} is no mark of a write; "
                "use another markSubject"
            ) from None

    def _compare(self, rows: int, check: int) -> None:
        if rows == self._mark.rows and check != self._mark.check:
            raise self._changed()

    def _changed(self) -> SinkError:
        return SinkError(
            f"guarantee exactly-once: {self._mark.rows} rows of this task are stored, and now they are "
            "others or come in another order; nothing more was written. Write from a stored table, whose "
            "rows keep their order"
        )

    # -- batches

    def _commit(self) -> None:
        """Store the waiting rows with the mark behind them, once, whatever happens on the way."""
        self._deadline = time.monotonic() + self._seconds
        while self._waiting:
            wanted = Mark(self._batch, self.sent, self._check, 0)
            try:
                self._mark = Mark(wanted.batch, wanted.rows, wanted.check, self._send(wanted))
            except ApiError as error:
                if error.err_code not in WRONG_LAST | PASSING and not may_pass(error):
                    first = self.sent - len(self._waiting)
                    raise RowRejected(
                        f"{self._called(first)} or one of the {len(self._waiting)} rows from there",
                        self._waiting[0][0][0].decode(),
                        str(error),
                    ) from None
                self._look_again(error)
            except ClientError as error:
                if not may_pass(error):
                    raise
                self._look_again(error)
            else:
                self._waiting.clear()
                self._bytes = 0

    def _look_again(self, error: Exception) -> None:
        """Find out what is stored, after an error that leaves it open, and drop it from the waiting rows."""
        if time.monotonic() >= self._deadline:
            raise Unacknowledged(
                f"{self._called(self.sent - len(self._waiting))}: its batch was not stored within "
                f"{self._seconds:g} s: {error}; see deliveryTimeout"
            ) from None
        if isinstance(error, ClientError):
            self._trying(self.connection.reopen)
        elif error.err_code not in WRONG_LAST:  # type: ignore[attr-defined]
            time.sleep(PAUSE)
        self._read_mark()
        first = self.sent - len(self._waiting)
        for number in range(first + 1, min(self._mark.rows, self.sent) + 1):
            row, check = self._waiting.popleft()
            self._bytes -= sum(map(len, row))
            self._compare(number, check)

    def _send(self, mark: Mark) -> int:
        """Send one atomic batch, and return the sequence of its mark."""
        name, inbox = secrets.token_hex(11).encode(), self.connection.new_inbox()
        sid = self.connection.subscribe(inbox)
        try:
            frames = [
                _frame(row, name, number, inbox.encode() if number == 1 else b"")
                for number, (row, _) in enumerate(self._waiting, 1)
            ]
            ends = (
                b"Nats-Batch-Commit: 1\r\nNats-Expected-Last-Subject-Sequence: %d\r\n" % self._mark.sequence
            )
            last = (self._subject.encode(), b"", mark.body())
            frames.append(_frame(last, name, len(frames) + 1, inbox.encode(), ends))
            self.connection.send(b"".join(frames))
            until = min(self._deadline, time.monotonic() + self._seconds * ATTEMPT)
            while True:
                answer = self.connection.receive(max(0.001, until - time.monotonic()))
                if answer.subject != inbox:
                    continue  # a second answer to an earlier request: two leaders may give one
                if answer.status:
                    raise ApiError(answer.status, NO_LEADER, "nobody answers")
                if answer.payload:
                    return self._stored(json.loads(answer.payload), name.decode(), len(frames))
        finally:
            with contextlib.suppress(ClientError):  # it may have ended with the connection
                self.connection.unsubscribe(sid)

    def _stored(self, ack: dict[str, Any], name: str, messages: int) -> int:
        if "error" in ack:
            raise ApiError.from_json(ack["error"])
        if (ack.get("stream"), ack.get("batch"), ack.get("count")) != (self._stream, name, messages):
            raise SinkError(
                f"guarantee exactly-once: stream {ack.get('stream')} stored a message by itself, not as part "
                "of a batch; name the stream that stores all rows and marks with option stream"
            )
        return int(ack["seq"])

    def _trying(self, question: Callable[[], Any]) -> Any:
        """Return the answer to a question, which may be asked twice, within the time that there is."""
        while True:
            try:
                return question()
            except (AuthorizationError, NotPermitted):
                raise
            except (ApiError, ClientError) as error:
                if not may_pass(error) or time.monotonic() >= self._deadline:
                    raise
                time.sleep(PAUSE)
                if hasattr(self, "connection") and isinstance(error, ClientError):
                    self._reopen()

    def _reopen(self) -> None:
        try:
            self.connection.reopen()
        except ClientError:
            return  # the next question says so


def _frame(row: Message, batch: bytes, number: int, reply: bytes, more: bytes = b"") -> bytes:
    """Return one message of an atomic batch as HPUB."""
    subject, block, payload = row
    head = b"%bNats-Batch-Id: %b\r\nNats-Batch-Sequence: %d\r\n%b\r\n" % (
        block[:-2] or b"NATS/1.0\r\n",
        batch,
        number,
        more,
    )
    to = b"%b %b" % (subject, reply) if reply else subject
    return b"HPUB %b %d %d\r\n%b%b\r\n" % (to, len(head), len(head) + len(payload), head, payload)
