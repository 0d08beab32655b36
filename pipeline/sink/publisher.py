"""Publishing frames to a stream and reading their acknowledgements, with a bounded window in flight.

Promises: when `finish` returns, the stream has acknowledged every frame it was given. A frame without an
answer is sent again, with the same bytes, on the same connection or the next one; an error that the server
will always return is raised at once. Frames are kept until they are acknowledged, and no longer.
"""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from ...client import (
    AuthorizationError,
    BlockingConnection,
    ClientError,
    ConnectionLost,
    ConnectionOptions,
    Frames,
    NotPermitted,
    TimedOut,
)
from ...client.acks import StoredAcks
from ...protocol.errors import ApiError
from ..jetstream import JetStreamRequests
from .errors import RowRejected, Unacknowledged

IN_FLIGHT = 8 << 20  # bytes; with `window` the bound of what is sent and not acknowledged
CHUNK = 128 << 10  # bytes given to the socket at once
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 2.0  # seconds before a frame is sent again, doubled each time
TRIES = 4  # times that a silent frame is sent within its deadline
# Errors that pass: JetStream unavailable, no leader, too many requests, the first copy of an id being stored.
PASSING = frozenset((10008, 10009, 10158, 10167))
NO_RESPONDERS = 503
STORE_FAILED = 10077


@dataclass(slots=True)
class _Sent:
    """Consecutive frames that were sent together: [first, end)."""

    first: int
    end: int
    since: float
    tried: float


class FramePublisher:
    """Publishes one task's frames, numbered from 0 in the order given.

    called: returns a frame's number in words, for errors
    prefix: the API's
    window: the most frames in flight
    seconds: how long a frame may stay unacknowledged

    Raises RowRejected, Unacknowledged, AuthorizationError, NotPermitted.
    """

    def __init__(
        self,
        address: ConnectionOptions,
        *,
        called: Callable[[int], str],
        prefix: str = "$JS.API",
        window: int = 4096,
        seconds: float = 120.0,
    ) -> None:
        self._called, self._prefix = called, prefix
        self.stream = ""  # whose acknowledgements count; "" for any
        self._window, self._seconds = window, seconds
        self.stored = self.duplicates = self.sent = 0
        self._waiting: dict[int, bytes] = {}  # by number, in order
        self._bytes = 0
        self._chunks: deque[_Sent] = deque()
        self._again: list[int] = []  # refused for now, sent again at _again_at
        self._again_at = 0.0
        self._pause = FIRST_PAUSE
        self._excuse = ""  # why frames were last delayed or sent in vain
        self._lost_at = -1  # how many were stored when the connection was last lost
        self.connection = self._open(address)
        self.inbox = self.connection.new_inbox()
        self._start = len(self.inbox) + 1
        self.connection.subscribe(f"{self.inbox}.*")

    @property
    def max_payload(self) -> int:
        """The largest message that the server accepts, in bytes."""
        return self.connection.max_payload

    def __enter__(self) -> FramePublisher:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.connection.close()

    def publish(self, frames: list[bytes]) -> None:
        """Send frames once the window has room for them, reading acknowledgements meanwhile."""
        done = 0
        while done < len(frames):
            chunk, size = self._chunk(frames, done)
            while self._waiting and not self._has_room(chunk, size):
                self._read_acks()
            now = time.monotonic()
            first, self.sent = self.sent, self.sent + chunk
            chosen = frames[done : done + chunk]
            self._waiting.update(enumerate(chosen, first))
            self._bytes += size
            self._chunks.append(_Sent(first, self.sent, now, now))
            done += chunk
            self._send(range(first, self.sent))

    def finish(self) -> None:
        """Wait until every frame is acknowledged."""
        while self._waiting:
            self._read_acks()

    def _chunk(self, frames: list[bytes], start: int) -> tuple[int, int]:
        """Return how many frames to send next, at least one, and their bytes."""
        most = max(1, self._window // 4)
        size = count = 0
        for frame in frames[start : start + most]:
            if count and size + len(frame) > CHUNK:
                break
            size += len(frame)
            count += 1
        return count, size

    def _has_room(self, frames: int, size: int) -> bool:
        return len(self._waiting) + frames <= self._window and self._bytes + size <= IN_FLIGHT

    # -- acknowledgements

    def _read_acks(self) -> None:
        """Read acknowledgements, waiting if there are none, and send again what is due.

        Raises Unacknowledged if a frame has waited too long.
        """
        now = time.monotonic()
        head = self._oldest()
        due = min(head.tried + self._seconds / TRIES, head.since + self._seconds)
        if self._again:
            due = min(due, self._again_at)
        acks, others = StoredAcks(self.inbox, self.stream), Frames()
        lost: ConnectionLost | None = None
        try:
            others = self.connection.take_into(acks, max(due - now, 0.001))
        except TimedOut:
            pass
        except ConnectionLost as error:
            lost = error
        self._note_stored(acks.numbers)
        self._read(others)
        if lost is not None:
            self._recover(lost)
        if self._waiting:
            self._repeat(time.monotonic())

    def _oldest(self) -> _Sent:
        """Return the oldest chunk that has an unacknowledged frame; there must be one."""
        number = next(iter(self._waiting))
        while self._chunks[0].end <= number:
            self._chunks.popleft()
        return self._chunks[0]

    def _late(self, reason: str) -> Unacknowledged:
        """Return the error to raise when the time is over."""
        because = f": {reason}" if reason else ""
        oldest = next(iter(self._waiting), None)
        if oldest is None:
            return Unacknowledged(
                f"nowhere to write to within {self._seconds:g} s{because}; see deliveryTimeout"
            )
        return Unacknowledged(
            f"{self._called(oldest)}, subject {self._subject(oldest)}: no acknowledgement within "
            f"{self._seconds:g} s ({len(self._waiting)} rows are without one){because}; see deliveryTimeout"
        )

    def _note_stored(self, numbers: list[int]) -> None:
        """Note that the stream has stored these frames."""
        for number in numbers:
            frame = self._waiting.pop(number, None)
            if frame is not None:  # otherwise it is the answer to a copy sent before
                self._bytes -= len(frame)
                self.stored += 1
        if numbers:
            self._pause, self._excuse = FIRST_PAUSE, ""

    def _read(self, answers: Frames) -> None:
        begin, waiting, stream = self._start, self._waiting, self.stream
        before = self.stored
        for head, ack in zip(answers.heads, self._acks(answers), strict=True):
            number = int(head[begin : head.index(b" ")])
            frame = waiting.get(number)
            if frame is None:
                continue  # the answer to a copy sent before
            if "error" in ack:
                self._refused(number, ack["error"])
                continue
            if stream and ack["stream"] != stream:
                reason = f"stored by stream {ack['stream']}, not by {stream}: see the option stream"
                raise RowRejected(self._called(number), self._subject(number), reason)
            del waiting[number]
            self._bytes -= len(frame)
            self.stored += 1
            if ack.get("duplicate"):
                self.duplicates += 1
        if self.stored > before:
            self._pause, self._excuse = FIRST_PAUSE, ""

    def _acks(self, answers: Frames) -> list[dict[str, Any]]:
        """Return each answer as a document that has `stream` or `error`."""
        try:
            acks: list[Any] = json.loads(b"[%b]" % b",".join(answers.payloads))
        except ValueError:
            acks = []
        if len(acks) == len(answers) and all(type(ack) is dict and "stream" in ack for ack in acks):
            return acks
        return [self._answer(answers, row) for row in range(len(answers))]

    def _answer(self, answers: Frames, row: int) -> dict[str, Any]:
        """Return one answer if not all of them are acknowledgements.

        It is an error for "no responders", and for an answer that does not come from a stream.
        """
        message = answers.message(row)
        if message.status == NO_RESPONDERS and not message.payload:
            return {"error": {"code": NO_RESPONDERS}}
        try:
            ack = json.loads(message.payload)
        except ValueError:
            ack = None
        if isinstance(ack, dict) and ("stream" in ack or "error" in ack):
            return ack
        return {"error": {"description": "what answered is no stream"}}

    def _refused(self, number: int, error: dict[str, Any]) -> None:
        """Keep a frame back if the refusal may pass. Raises RowRejected if it will not."""
        code, err_code = int(error.get("code") or 0), int(error.get("err_code") or 0)
        nobody = code == NO_RESPONDERS and not err_code
        if not nobody and err_code not in PASSING:
            text = str(error.get("description") or "an error without text")
            if err_code == STORE_FAILED and "maximum" in text:
                text += ": the stream is full and discards new messages; raise its limit, or make room"
            raise RowRejected(self._called(number), self._subject(number), f"{text} ({err_code})")
        if nobody and not self._again:
            self._check_taken(number)
        self._excuse = "nobody answers" if nobody else str(error.get("description"))
        if not self._again:
            self._again_at = time.monotonic() + self._pause
            self._pause = min(self._pause * 2, LONGEST_PAUSE)
        self._again.append(number)

    def _check_taken(self, number: int) -> None:
        """Raise RowRejected if no stream stores the subject; return if one does, or if nobody can say."""
        subject = self._subject(number)
        try:
            takers = JetStreamRequests(self.connection, self._prefix).streams(subject)
        except (ApiError, ClientError):
            return
        if not takers:
            reason = "no stream stores this subject: add it to a stream, or write to another subject"
            raise RowRejected(self._called(number), subject, reason)

    def _subject(self, number: int) -> str:
        return self._waiting[number].split(b" ", 2)[1].decode()

    # -- sending, again

    def _send(self, numbers: Iterable[int]) -> None:
        """Send the frames that are not acknowledged, on another connection if this one is lost."""
        try:
            self._put(numbers)
        except ConnectionLost as lost:
            self._recover(lost)

    def _put(self, numbers: Iterable[int]) -> None:
        batch: list[bytes] = []
        size = 0
        for number in numbers:
            frame = self._waiting.get(number)
            if frame is not None:
                batch.append(frame)
                size += len(frame)
            if size >= CHUNK:
                self.connection.send(b"".join(batch))
                batch, size = [], 0
        if batch:
            self.connection.send(b"".join(batch))

    def _repeat(self, now: float) -> None:
        """Send delayed frames that are due, and the oldest chunk if its answers do not arrive."""
        head = self._oldest()
        if now - head.since >= self._seconds:
            raise self._late(self._excuse)
        if self._again and now >= self._again_at:
            due, self._again = self._again, []
            self._send(dict.fromkeys(due))
        if now - head.tried >= self._seconds / TRIES:
            head.tried = now
            self._send(range(head.first, head.end))

    def _recover(self, lost: ConnectionLost) -> None:
        """Reconnect and send all unacknowledged frames in order, until that works or the time is over.

        Raises Unacknowledged if the time is over.
        """
        self._excuse = str(lost)
        since = self._oldest().since if self._waiting else time.monotonic()
        if self._lost_at == self.stored:
            self._rest(since + self._seconds)  # lost again before anything was stored
        self._lost_at = self.stored
        while (now := time.monotonic()) < since + self._seconds:
            try:
                self.connection.reopen()
                self.connection.subscribe(f"{self.inbox}.*")
                self._again.clear()
                self._put(self._waiting)
            except (AuthorizationError, NotPermitted):
                raise
            except ClientError as error:
                self._excuse = str(error)
                self._rest(since + self._seconds)
            else:
                for chunk in self._chunks:
                    chunk.tried = now
                return
        raise self._late(self._excuse) from None

    def _open(self, address: ConnectionOptions) -> BlockingConnection:
        deadline = time.monotonic() + self._seconds
        while True:
            try:
                return BlockingConnection.open(address)
            except AuthorizationError:
                raise
            except ClientError as error:
                if time.monotonic() >= deadline:
                    raise self._late(str(error)) from None
                self._rest(deadline)

    def _rest(self, deadline: float) -> None:
        time.sleep(max(0.0, min(self._pause, deadline - time.monotonic())))
        self._pause = min(self._pause * 2, LONGEST_PAUSE)
