"""Ingest: validates published messages and stores them in their stream.

Promises:
- The checks run in the reference's order, and each fails with the reference's error.
- A message that passes is stored once, and its answer is left with the ack queue. One that fails changes
  nothing.
- A sourced message skips what its origin has validated.
- The hot path builds no JSON document, and makes for each message only what the store and the answer need.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Protocol

from ....native import take_copies, take_publishes
from ....native.ingest import MAX_HEADER
from ....protocol import headers
from ....protocol.errors import ApiError, api_error
from ....protocol.transform import SubjectTransform
from ....store.message import columns, numbered
from .batch_check import MAX_RECORD, BatchCheck
from .batch_headers import ID as BATCH_ID
from .batch_headers import IN_HEADER
from .counter import counted, stored
from .dedupe import HEADER as MSG_ID
from .dedupe import Duplicate
from .fast_batches import SUFFIX, FastBatches, check
from .publish_headers import PublishHeaders, check_duplicate, validate
from .republish import Republisher
from .schedule_headers import IN_HEADER as IN_SCHEDULE
from .schedule_headers import brought

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ....protocol.api.stream import StreamConfig
    from ....store.message import StoredMessage
    from ...accounts.subscription import Message, Publish
    from ..host import BatchCapacity
    from .atomic_batches import AtomicBatches
    from .batch_check import Judged
    from .commit import Answer
    from .contents import StreamContents
    from .message_schedules import Fired
    from .source_header import Label

UNLIMITED = 1 << 62  # bytes; stands for no limit

Checked = tuple[str, bytes, bytes]  # subject, header, body of a message that passed all checks


class IngestEvents(Protocol):
    """What a stream does for its publishes."""

    def send_each(self, messages: list[Answer]) -> None:
        """Publish answers, each (reply, body)."""

    def store_failed(self, error: Exception) -> None:
        """Log that a valid message could not be stored."""

    def roll_up(self, rollups: list[tuple[str, int]]) -> list[Answer] | None:
        """Let messages just stored replace those before them; see `MessageRemoval.roll_up`."""


def refusal_answer(stream: str, error: Exception, failed: Callable[[Exception], None]) -> bytes:
    """Return the answer of a stream to a publisher whose message failed with `error`.

    `failed` is called with an error that is not an ApiError: it is a failure of the stream.
    """
    if not isinstance(error, ApiError):
        failed(error)
        error = api_error("JSStreamStoreFailedF", err=str(error) or type(error).__name__)
    return json.dumps({"error": error.to_json(), "stream": stream, "seq": 0}, separators=(",", ":")).encode()


class Ingest:
    """The publish path of one stream.

    domain: the JetStream domain named in the answers, "" for none.
    ack: an acknowledgement up to the sequence.
    batches: gathers atomic batches, if the stream is on this server alone and allows them.
    fast: the fast batches, if the stream allows them.
    """

    def __init__(
        self, contents: StreamContents, events: IngestEvents, capacity: BatchCapacity, *, domain: str
    ) -> None:
        """capacity: of the server for batches."""
        self._contents = contents
        self._events = events
        self._domain = domain
        self._batch_capacity = capacity
        self._store = contents.store
        self._now = contents.deps.clock.now
        self._ack_queue = contents.ack_queue
        self._limits = contents.limits
        self._dedupe = contents.dedupe
        self._expiry = contents.expiry
        self._schedules = contents.schedules
        self._schedules.fire = self._fire_due
        self._retention = contents.retention
        self._quota = contents.deps.quota
        self.batches: AtomicBatches | None = None
        self.fast: FastBatches | None = None
        self._rolling: list[Answer] | None = None  # where answers wait for the last message's roll-up
        self._more = b""  # what the answer to the last message says after the sequence
        self.configure(contents.config)

    def configure(self, config: StreamConfig) -> None:
        """Take over a configuration."""
        domain_field = f',"domain":{json.dumps(self._domain)}' if self._domain else ""
        self.ack = f'{{"stream":{json.dumps(config.name)}{domain_field},"seq":'.encode()
        self._acks = not config.no_ack
        self._sealed = config.sealed
        self._counting = config.allow_msg_counter
        limit = config.max_msg_size if config.max_msg_size >= 0 else UNLIMITED
        self._most = min(limit, MAX_RECORD if config.storage == "file" else UNLIMITED)
        transform, random_below = config.subject_transform, self._contents.deps.random_below
        self._transform: SubjectTransform | None = None
        if transform is not None and transform.dest:
            self._transform = SubjectTransform(transform.src, transform.dest, random_below=random_below)
        self._republisher = Republisher(config, random_below)
        if config.allow_batched != (self.fast is not None):
            self.end_fast()
            fast = FastBatches(self, self._contents, self._events.send_each, self._batch_capacity)
            self.fast = fast if config.allow_batched else None
        checked = config.sealed or config.allow_msg_counter or config.allow_batched
        plain = self._transform is None and not self._republisher.active and not checked
        self._simple = plain and config.discard != "new" and config.retention != "interest"

    def receive_batch(self, run: list[Publish]) -> None:
        """Take publishes that came together, and see that each is answered.

        The result is the same as that of `receive` for each of them.
        """
        simple = self._simple and not self._quota.guarded and self._ack_queue.error is None
        now, at = self._now(), 0
        if self._dedupe.sequences:
            self._dedupe.forget(now)
        while at < len(run):
            if simple:
                at = self._take(run, at, now)
            if at < len(run):
                subject, reply, header_size, size, tail = run[at]
                start = len(tail) - 2 - size
                body_at = start + header_size
                text = subject.decode("utf-8", "surrogateescape")
                self._accept(text, reply, tail[start:body_at], tail[body_at:-2])
                at += 1

    def _take(self, run: list[Publish], start: int, now: int) -> int:
        """Store publishes from place `start` on, and have them answered, up to one that must be looked at.

        Return the place of that one.
        """
        ack_queue, dedupe, store = self._ack_queue, self._dedupe, self._store
        messages: list[Checked] = []
        ids: list[tuple[int, bytes, int]] = []
        answers: list[Answer] = []
        known = dedupe.sequences if dedupe.window > 0 else None
        ack = self.ack if self._acks else None
        first, most = store.last_seq + 1, self._most
        stop, last_id = take_publishes(run, start, most, known, ack, first, now, messages, ids, answers)
        if messages:
            try:
                self._keep(messages, ids, last_id, now)
            except Exception as error:  # as in `_accept`
                refusal = self.refusal(error)
                self._events.send_each([(reply, refusal) for reply, _ in answers])
                return stop
        elif not answers:
            return stop
        ack_queue.answers.extend(answers)
        if ack_queue.idle:
            ack_queue.wake()
        return stop

    def _keep(
        self, messages: list[Checked], ids: list[tuple[int, bytes, int]], last_id: bytes, now: int
    ) -> None:
        """Store messages that passed all checks. ids: see `DedupeWindow.remember_each`."""
        dedupe, limits, store = self._dedupe, self._limits, self._store
        if ids:
            dedupe.remember_each(ids)
        try:
            if len(messages) == 1:
                store.append(*messages[0], now)
            else:
                store.append_each(*numbered(messages, store.last_seq + 1, now))
        except Exception:
            dedupe.forget_from(store.last_seq + 1)
            raise
        dedupe.last_id = last_id
        if limits.active:
            for subject in dict.fromkeys([message[0] for message in messages]):
                limits.enforce(subject)
        if limits.ages:
            limits.stored()

    def store_copies(
        self, messages: Sequence[StoredMessage], originals: Sequence[str], start: int, label: Label
    ) -> tuple[int, int]:
        """Store the messages of a source from place `start` on, up to one that must be looked at.

        Return the place of that one, and the sequence in the origin of the last message that was stored, 0
        if none was. For the arguments, see `native.take_copies`.
        """
        if not self._simple or self._quota.guarded or self._ack_queue.error is not None:
            return start, 0
        now, known = self._now(), self._dedupe.sequences if self._dedupe.window > 0 else None
        self._dedupe.forget(now)
        copies: list[Checked] = []
        ids: list[tuple[int, bytes, int]] = []
        first, most = self._store.last_seq + 1, self._most
        stop, last_id, newest = take_copies(
            messages, originals, start, most, known, label, first, now, copies, ids
        )
        if copies:
            self._keep(copies, ids, last_id, now)
        return stop, newest

    def receive(self, message: Message) -> None:
        """Take one publish from the account and see that it is answered."""
        reply = message.reply.encode("utf-8", "surrogateescape")
        self._accept(message.subject, reply, message.header, message.body)

    def _accept(self, subject: str, reply: bytes, header: bytes, body: bytes) -> None:
        ack_queue = self._ack_queue
        if self.batches is not None and IN_HEADER in header:
            size = len(header) + len(body)
            name = subject.encode("utf-8", "surrogateescape")
            self.batches.receive((name, reply, len(header), size, header + body + b"\r\n"))
            return
        if reply.endswith(SUFFIX):
            if self.fast is not None:
                self.fast.receive(subject, reply, header, body, self._now())
            else:
                self._refuse_fast(reply, len(header) + len(body))
            return
        try:
            sequence = self.store(subject, header, body)
        except Duplicate as duplicate:
            if reply and self._acks:
                ack_queue.answers.append((reply, b'%b%d,"duplicate": true}' % (self.ack, duplicate.sequence)))
        except Exception as error:  # one message must not end the connection that it came on
            if reply and self._acks:
                self._events.send_each([(reply, self.refusal(error))])
            return
        else:
            if reply and self._acks:
                answers = ack_queue.answers if self._rolling is None else self._rolling
                answers.append((reply, b"%b%d%b}" % (self.ack, sequence, self._more)))
        if ack_queue.idle:
            ack_queue.wake()

    def _refuse_fast(self, reply: bytes, size: int) -> None:
        """Refuse a message of a fast batch, as the stream does not take these."""
        try:
            check(self._contents.config, size)
        except ApiError as error:
            if self._acks:
                self._events.send_each([(reply, self.refusal(error))])

    def end_fast(self) -> None:
        """Forget the fast batches that are open."""
        if self.fast is not None:
            self.fast.clear()

    def receive_whole(self, run: list[Publish]) -> None:
        """Store all messages of an atomic batch or none, and see that the last one is answered."""
        reply = run[-1][1] if self._acks else b""
        try:
            sequence = self._store_whole(self._judge(run))
        except Exception as error:  # as in `_accept`
            if reply:
                self._events.send_each([(reply, self.refusal(error))])
            return
        if reply:
            last = run[-1][4][: run[-1][2]]
            identifier = (headers.get(last, BATCH_ID) or b"").decode("utf-8", "surrogateescape")
            more = b',"batch":%b,"count":%d' % (json.dumps(identifier).encode(), len(run))
            answers = self._ack_queue.answers if self._rolling is None else self._rolling
            answers.append((reply, b"%b%d%b}" % (self.ack, sequence, more)))
        if self._ack_queue.idle:
            self._ack_queue.wake()

    def _judge(self, run: list[Publish]) -> list[Judged]:
        """Return the messages of a batch as they will be stored. Raises ApiError."""
        if self._sealed:
            raise api_error("JSStreamSealedErr")
        self._check_store()
        check, judged = BatchCheck(self._contents, self._most, self._now()), []
        for name, _, header_size, _, tail in run:
            subject = name.decode("utf-8", "surrogateescape")
            if self._transform is not None:
                subject = self._transform.apply(subject) or subject
            judged.append(check.judge(subject, tail[:header_size], tail[header_size:-2]))
        size_of = self._store.size_of
        size = sum(size_of(one.subject, len(one.headers.header), len(one.body)) for one in judged)
        if self._quota.guarded and (refusal := self._quota.refusal(size)) is not None:
            raise refusal
        return judged

    def _store_whole(self, batch: list[Judged]) -> int:
        """Store a batch; return its last sequence. What it replaces is removed after all of it is stored."""
        store, limits, now = self._store, self._limits, self._now()
        previous = {one.subject: store.subject_last(one.subject) for one in batch}
        first = store.last_seq + 1
        messages = [(one.subject, one.headers.header, one.body) for one in batch]
        store.append_each(*numbered(messages, first, now))
        rollups = []
        for sequence, (subject, publish_headers, body) in enumerate(batch, first):
            if self._republisher.active:
                stored_as = subject, publish_headers.header, body, sequence, now
                self._ack_queue.republish += self._republisher.made(*stored_as, previous[subject])
                previous[subject] = sequence
            if publish_headers.identifier:
                self._dedupe.remember(publish_headers.identifier, sequence, now)
            if publish_headers.ttl:
                self._expiry.stored(sequence, publish_headers.header, now)
            self._note_schedule(publish_headers.header, subject, sequence, now)
            rollups += publish_headers.rollups(subject, sequence)
        self._dedupe.last_id = batch[-1].headers.identifier
        self._rolling = self._events.roll_up(rollups) if rollups else None
        if self._retention.by_interest:
            for sequence, one in enumerate(batch, first):
                self._retention.drop_unheard(sequence, one.subject)
        if limits.active and self._rolling is None:
            for subject in previous:
                limits.enforce(subject)
        if limits.ages:
            limits.stored()
        if self._quota.guarded:
            self._contents.update_usage()
        return first + len(batch) - 1

    def refusal(self, error: Exception) -> bytes:
        """Return the error answer for a publisher. An error that is no ApiError is the stream's failure."""
        return refusal_answer(self._contents.name, error, self._events.store_failed)

    def store(self, subject: str, header: bytes, body: bytes, *, sourced: bool = False) -> int:
        """Validate and store one message; return its sequence. Raises Duplicate and ApiError.

        sourced: whether it comes from a source, whose origin has validated its headers.
        """
        self._rolling, self._more = None, b""
        if self._transform is not None:
            subject = self._transform.apply(subject) or subject
        size = len(header) + len(body)
        if self._sealed:
            raise api_error("JSStreamSealedErr")
        if size > self._most:
            raise self._too_large(size)
        self._check_store()
        store = self._store
        now = self._now()
        publish_headers: PublishHeaders | None = None
        if header:
            publish_headers = validate(self._contents, subject, header, body, sourced=sourced)
            header = publish_headers.header
            check_duplicate(self._dedupe, publish_headers, now)
        if self._counting:
            header, body = self._count(subject, header, body)
        if len(header) > MAX_HEADER:
            raise api_error("JSStreamHeaderExceedsMaximumErr")
        if self._retention.by_interest and self._retention.nobody_listens(subject):
            return self._skip(subject, publish_headers, now)
        limits = self._limits
        if self._quota.guarded or limits.discard_new:
            self._check_room(subject, len(header), len(body), publish_headers)
        if self._republisher.active:
            previous = store.subject_last(subject)
            sequence = store.append(subject, header, body, now)
            self._ack_queue.republish += self._republisher.made(
                subject, header, body, sequence, now, previous
            )
        else:
            sequence = store.append(subject, header, body, now)
        if publish_headers is None:
            self._dedupe.last_id = b""
        else:
            self._note(publish_headers, subject, sequence, now)
        if limits.active and self._rolling is None:  # a roll-up in slices enforces at its end
            limits.enforce(subject)
        if limits.ages:
            limits.stored()
        if self._quota.guarded:
            self._contents.update_usage()
        return sequence

    def _check_store(self) -> None:
        error = self._ack_queue.error
        if error is not None:
            raise api_error("JSStreamStoreFailedF", err=f"stream store failed: {error}")

    def _count(self, subject: str, header: bytes, body: bytes) -> tuple[bytes, bytes]:
        """Return the header and the body with the counter's new total. Raises ApiError."""
        header, body = counted(stored(self._store, subject), subject, header, body)
        if len(header) + len(body) > self._most:
            raise self._too_large(len(header) + len(body))
        self._more = b"," + body[1:-1]
        return header, body

    def _check_room(
        self, subject: str, header: int, body: int, publish_headers: PublishHeaders | None
    ) -> None:
        """Raise ApiError if the account, the server or the stream has no room for the message.

        header, body: their sizes, in bytes.
        """
        size = self._store.size_of(subject, header, body)
        refusal = self._quota.refusal(size)
        if refusal is None and self._limits.discard_new:
            rolls_up = publish_headers is not None and bool(publish_headers.rollup)
            refusal = self._limits.check_room(subject, size, rolls_up=rolls_up)
        if refusal is not None:
            raise refusal

    def store_mirrored(self, messages: Sequence[StoredMessage]) -> None:
        """Store messages under their origin's sequences and times. Raises ApiError.

        Those before the one that is refused are stored.
        """
        self._check_store()
        if len(messages) > 1 and (self._quota.guarded or self._expiry.active):
            for message in messages:
                self.store_mirrored([message])
            return
        _, subject, header, body, _ = messages[0]
        if self._quota.guarded:
            refusal = self._quota.refusal(self._store.size_of(subject, len(header), len(body)))
            if refusal is not None:
                raise refusal
        self._store.append_each(*columns(messages))
        headed = next((message for message in reversed(messages) if message.header), None)
        if headed is not None:
            self._dedupe.last_id = headers.get(headed.header, MSG_ID) or b""
            if self._expiry.active:
                self._expiry.stored(headed.seq, headed.header, headed.time)
        if self._limits.active:
            for subject in dict.fromkeys([message[1] for message in messages]):
                self._limits.enforce(subject)
        self._limits.stored()
        if self._ack_queue.idle:
            self._ack_queue.wake()

    def _too_large(self, size: int) -> ApiError:
        if size > MAX_RECORD:
            return api_error("JSStreamStoreFailedF", err="message to large")
        return api_error("JSStreamMessageExceedsMaximumErr")

    def _skip(self, subject: str, publish_headers: PublishHeaders | None, now: int) -> int:
        """Use up a sequence without storing the message, because no consumer is interested in it."""
        sequence = self._store.last_seq + 1
        self._store.skip_to(sequence)
        self._dedupe.last_id = b""
        if publish_headers is not None:
            if publish_headers.identifier:
                self._dedupe.last_id = publish_headers.identifier
                self._dedupe.remember(publish_headers.identifier, sequence, now)
            self._roll_up(publish_headers, subject, sequence)
        return sequence

    def _roll_up(self, publish_headers: PublishHeaders, subject: str, sequence: int) -> None:
        if rollups := publish_headers.rollups(subject, sequence):
            self._rolling = self._events.roll_up(rollups)

    def _note_schedule(self, header: bytes, subject: str, sequence: int, now: int) -> None:
        if self._schedules.active and IN_SCHEDULE in header:
            self._schedules.stored(sequence, subject, header, now)

    def _note(self, publish_headers: PublishHeaders, subject: str, sequence: int, now: int) -> None:
        self._dedupe.last_id = publish_headers.identifier
        if publish_headers.identifier:
            self._dedupe.remember(publish_headers.identifier, sequence, now)
        if publish_headers.ttl:
            self._expiry.stored(sequence, publish_headers.header, now)
        self._note_schedule(publish_headers.header, subject, sequence, now)
        self._roll_up(publish_headers, subject, sequence)

    def _fire_due(self) -> None:
        self.fire(self._schedules.due(self._now()))
        self._schedules.rearm(soon=True)

    def fire(self, fired: list[Fired]) -> None:
        """Store what these schedules bring, as far as they have not ended."""
        schedules = self._schedules
        for sequence, following in fired:
            schedule = schedules.message(sequence)
            if schedule is None:
                continue
            try:
                self.store(*brought(schedule, schedules.content(schedule), following), sourced=True)
            except Exception as error:  # as in `_accept`
                self._events.store_failed(error)
                schedules.failed(schedule, following)
        if self._ack_queue.idle:
            self._ack_queue.wake()
