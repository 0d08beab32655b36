"""Ingest: the way of a published message into its stream.

Promises: checks in the reference's order, each with its error; a message that passes is stored once, and its
answer is left with the committer; one that fails changes nothing. A sourced message skips what its origin has
judged. Hot path: no JSON, no objects per message beyond the answer's bytes.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ....protocol import headers
from ....protocol.errors import ApiError, api_error
from ....protocol.subject import is_literal
from ....protocol.timestamp import format_rfc3339
from ....protocol.transform import SubjectTransform
from .dedupe import HEADER as MSG_ID
from .publish_headers import PublishHeaders, validate

if TYPE_CHECKING:
    from ...accounts.message import Message
    from ...accounts.subscription import Publish
    from .commit import Answer
    from .core import Stream

MAX_HEADER = 65535
MAX_RECORD = 32 * 1024 * 1024
UNLIMITED = 1 << 62


class Duplicate(Exception):  # noqa: N818 - an outcome that has an answer, not a fault
    """The message id was stored before, as `sequence`."""

    def __init__(self, sequence: int) -> None:
        super().__init__(sequence)
        self.sequence = sequence


class Ingest:
    """The publish path of one stream."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._store = stream.store
        self._now = stream.rules.clock.now
        self._committer = stream.committer
        self._limits = stream.limits
        self._dedupe = stream.dedupe
        self._expiry = stream.expiry
        self._interest = stream.interest
        self._quota = stream.quota
        self._rolling: list[Answer] | None = None  # answers that wait until the last message has rolled up
        self.configure()

    def configure(self) -> None:
        """Take over the stream's configuration."""
        config = self._stream.config
        domain = self._stream.domain
        place = f',"domain":{json.dumps(domain)}' if domain else ""
        self._ack = f'{{"stream":{json.dumps(config.name)}{place},"seq":'.encode()
        self._acks = not config.no_ack
        self._sealed = config.sealed
        limit = config.max_msg_size if config.max_msg_size >= 0 else UNLIMITED
        self._most = min(limit, MAX_RECORD if config.storage == "file" else UNLIMITED)
        transform = config.subject_transform
        self._transform = self._compile(transform.src, transform.dest) if transform is not None else None
        republish = config.republish
        self._republish = self._compile(republish.src, republish.dest) if republish is not None else None
        plain = self._transform is None and self._republish is None and not config.sealed
        self._simple = plain and config.discard != "new" and config.retention != "interest"
        self._headers_only = republish is not None and bool(republish.headers_only)

    def _compile(self, source: str, destination: str) -> SubjectTransform | None:
        if not destination:
            return None
        return SubjectTransform(source, destination, random_below=self._stream.rules.random_below)

    def read(self, run: list[Publish]) -> None:
        """Take publishes that came together and see that each is answered, as `receive` does one by one."""
        simple = self._simple and not self._quota.guarded and self._committer.error is None
        current = b""
        bodies: list[bytes] = []
        replies: list[bytes] = []
        for subject, reply, header_size, size, tail in run:
            if header_size or size > self._most or not simple:
                self._take(current, bodies, replies)
                text = subject.decode("utf-8", "surrogateescape")
                start = len(tail) - 2 - size
                body_at = start + header_size
                self._accept(text, reply, tail[start:body_at], tail[body_at:-2])
                continue
            if subject != current:
                self._take(current, bodies, replies)
                current = subject
            bodies.append(tail[-size - 2 : -2])
            replies.append(reply)
        self._take(current, bodies, replies)

    def _take(self, raw: bytes, bodies: list[bytes], replies: list[bytes]) -> None:
        """Store messages of one subject that nothing speaks against, and empty both lists."""
        if not bodies:
            return
        committer, limits = self._committer, self._limits
        subject = raw.decode("utf-8", "surrogateescape")
        try:
            if len(bodies) == 1:
                sequence = self._store.append(subject, b"", bodies[0], self._now())
            else:
                sequence = self._store.append_run(subject, bodies, self._now())
        except Exception as error:  # as in `receive`
            refusal = self.refusal(error)
            if self._acks:
                self._stream.send_each([(reply, refusal) for reply in replies if reply])
        else:
            self._dedupe.last_id = b""
            if self._acks:
                ack = self._ack
                committer.answers.extend(
                    [(reply, b"%b%d}" % (ack, at)) for at, reply in enumerate(replies, sequence) if reply]
                )
            if limits.active:
                limits.enforce(subject)
            if limits.ages:
                limits.stored()
            if committer.idle:
                committer.wake()
        bodies.clear()
        replies.clear()

    def receive(self, message: Message) -> None:
        """Take one publish from the account and see that it is answered."""
        reply = message.reply.encode("utf-8", "surrogateescape")
        self._accept(message.subject, reply, message.header, message.body)

    def _accept(self, subject: str, reply: bytes, header: bytes, body: bytes) -> None:
        committer = self._committer
        try:
            sequence = self.store(subject, header, body)
        except Duplicate as duplicate:
            if reply and self._acks:
                committer.answers.append(
                    (reply, b'%b%d,"duplicate": true}' % (self._ack, duplicate.sequence))
                )
        except Exception as error:  # one message must not end the connection that it came on
            if reply and self._acks:
                self._stream.send_each([(reply, self.refusal(error))])
            return
        else:
            if reply and self._acks:
                answers = committer.answers if self._rolling is None else self._rolling
                answers.append((reply, b"%b%d}" % (self._ack, sequence)))
        if committer.idle:
            committer.wake()

    def refusal(self, error: Exception) -> bytes:
        """Give the answer that tells a publisher of `error`; what is no refusal of the API's is logged."""
        if not isinstance(error, ApiError):
            self._stream.troubled(error)
            error = api_error("JSStreamStoreFailedF", err=str(error) or type(error).__name__)
        return json.dumps(
            {"error": error.to_json(), "stream": self._stream.name, "seq": 0}, separators=(",", ":")
        ).encode()

    def store(self, subject: str, header: bytes, body: bytes, *, sourced: bool = False) -> int:
        """Judge and store one message; give its sequence. Raises Duplicate and ApiError."""
        self._rolling = None
        if self._transform is not None:
            subject = self._transform.apply(subject) or subject
        size = len(header) + len(body)
        if self._sealed:
            raise api_error("JSStreamSealedErr")
        if size > self._most:
            raise self._too_large(size)
        committer = self._committer
        if committer.error is not None:
            raise api_error("JSStreamStoreFailedF", err=f"stream store failed: {committer.error}")
        store = self._store
        now = self._now()
        envelope: PublishHeaders | None = None
        if header:
            envelope = validate(self._stream, subject, header, sourced=sourced)
            header = envelope.header
            self._check_duplicate(envelope, now)
            if len(header) > MAX_HEADER:
                raise api_error("JSStreamHeaderExceedsMaximumErr")
        if self._interest.by_interest and self._interest.nobody_listens(subject):
            return self._skip(subject, envelope, now)
        limits = self._limits
        if self._quota.guarded or limits.discard_new:
            self._check_room(subject, len(header), len(body), envelope)
        if self._republish is not None:
            previous = store.subject_last(subject)
            sequence = store.append(subject, header, body, now)
            self._send_again(subject, header, body, sequence, now, previous)
        else:
            sequence = store.append(subject, header, body, now)
        if envelope is None:
            self._dedupe.last_id = b""
        else:
            self._note(envelope, subject, sequence, now)
        if limits.active and self._rolling is None:  # else once what was rolled up is gone
            limits.enforce(subject)
        if limits.ages:
            limits.stored()
        if self._quota.guarded:
            self._stream.settle()
        return sequence

    def _check_room(self, subject: str, header: int, body: int, envelope: PublishHeaders | None) -> None:
        """Raise ApiError if the account, the server or the stream has no room for the message."""
        size = self._store.size_of(subject, header, body)
        refusal = self._quota.refusal(size)
        if refusal is None and self._limits.discard_new:
            rolls_up = envelope is not None and bool(envelope.rollup)
            refusal = self._limits.check_room(subject, size, rolls_up=rolls_up)
        if refusal is not None:
            raise refusal

    def replicate(self, sequence: int, subject: str, header: bytes, body: bytes, time: int) -> None:
        """Store a mirrored message under its origin's sequence and time. Raises ApiError."""
        if self._committer.error is not None:
            raise api_error("JSStreamStoreFailedF", err=f"stream store failed: {self._committer.error}")
        refusal = self._quota.refusal(self._store.size_of(subject, len(header), len(body)))
        if refusal is not None:
            raise refusal
        self._store.append_at(sequence, subject, header, body, time)
        if header:
            self._dedupe.last_id = headers.get(header, MSG_ID) or b""
            if self._expiry.active:
                self._expiry.stored(sequence, header, time)
        if self._limits.active:
            self._limits.enforce(subject)
        self._limits.stored()
        if self._committer.idle:
            self._committer.wake()

    def _check_duplicate(self, envelope: PublishHeaders, now: int) -> None:
        """Answer an id seen before, and check the expected one: both come before the envelope's refusal."""
        if envelope.identifier:
            known = self._dedupe.find(envelope.identifier, now)
            if known:
                raise Duplicate(known)
        expected = envelope.expected_id
        if expected is not None and expected != self._dedupe.last_id:
            raise api_error("JSStreamWrongLastMsgIDErrF", id=self._dedupe.last_id.decode("utf-8", "replace"))
        if envelope.refusal is not None:
            raise envelope.refusal

    def _too_large(self, size: int) -> ApiError:
        if size > MAX_RECORD:
            return api_error("JSStreamStoreFailedF", err="message to large")
        return api_error("JSStreamMessageExceedsMaximumErr")

    def _skip(self, subject: str, envelope: PublishHeaders | None, now: int) -> int:
        """Nobody is interested: the sequence is used up, nothing is stored."""
        sequence = self._store.last_seq + 1
        self._store.skip_to(sequence)
        self._dedupe.last_id = b""
        if envelope is not None:
            if envelope.identifier:
                self._dedupe.last_id = envelope.identifier
                self._dedupe.remember(envelope.identifier, sequence, now)
            self._rolling = self._stream.roll_up(envelope.rollup, subject, sequence)
        return sequence

    def _note(self, envelope: PublishHeaders, subject: str, sequence: int, now: int) -> None:
        self._dedupe.last_id = envelope.identifier
        if envelope.identifier:
            self._dedupe.remember(envelope.identifier, sequence, now)
        if envelope.ttl:
            self._expiry.stored(sequence, envelope.header, now)
        if envelope.rollup:
            self._rolling = self._stream.roll_up(envelope.rollup, subject, sequence)

    def _send_again(
        self, subject: str, header: bytes, body: bytes, sequence: int, time: int, previous: int
    ) -> None:
        assert self._republish is not None
        target = self._republish.apply(subject)
        if not target or not is_literal(target):
            return
        lines = (
            f"Nats-Stream: {self._stream.name}\r\nNats-Subject: {subject}\r\nNats-Sequence: {sequence}\r\n"
            f"Nats-Time-Stamp: {format_rfc3339(time)}\r\nNats-Last-Sequence: {previous}\r\n"
        )
        if self._headers_only:
            lines += f"Nats-Msg-Size: {len(body)}\r\n"
        start = header[:-2] if header else b"NATS/1.0\r\n"
        self._committer.republish.append(
            (target, start + lines.encode() + b"\r\n", b"" if self._headers_only else body)
        )
