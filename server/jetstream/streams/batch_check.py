"""BatchCheck: judges the messages of one atomic batch, each as if those before it were stored.

Promises:
- The checks run in the reference's order, and each fails with the reference's error (ApiError).
- Nothing is changed: a batch is stored after all of it was judged.
- The result depends on the stream's contents and the time alone, so that it is the same on every replica.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ....native.ingest import MAX_HEADER
from ....protocol import headers
from ....protocol.errors import api_error
from . import counter, schedule_headers
from .publish_headers import (
    ROLLUP,
    PublishHeaders,
    check_source,
    check_stream,
    last_on,
    plain_header,
    read_number,
    read_ttl,
    refuse_ttl,
)

if TYPE_CHECKING:
    from .contents import StreamContents

MAX_RECORD = 32 * 1024 * 1024  # bytes of headers and body in file storage


class Judged(NamedTuple):
    """A message of a batch that may be stored."""

    subject: str
    headers: PublishHeaders
    body: bytes


class BatchCheck:
    """The checks of one batch.

    most: the largest message, in bytes.
    now: the time of the batch, ns.
    """

    def __init__(self, contents: StreamContents, most: int, now: int) -> None:
        self._contents = contents
        self._config = contents.config
        self._store = contents.store
        self._most = most
        self._now = now
        self._ids: set[bytes] = set()
        self._last: dict[str, tuple[bytes, bytes]] = {}  # header and body by subject, of this batch
        self._counts: dict[str, int] = {}  # messages by subject
        self._expected: dict[str, int] = {}  # sequences by subject, as found in the store
        self._schedules: dict[str, bool] = {}  # whether the last message of a subject is one
        self._messages = self._bytes = 0

    def judge(self, subject: str, header: bytes, body: bytes) -> Judged:
        """Return the message as it will be stored. Raises ApiError."""
        header = plain_header(header)
        if headers.get(header, b"Nats-Expected-Last-Msg-Id"):
            raise api_error("JSAtomicPublishUnsupportedHeaderBatchErr", header="Nats-Expected-Last-Msg-Id")
        if len(header) + len(body) > MAX_RECORD:
            raise api_error("JSStreamStoreFailedF", err="message to large")
        if len(header) > MAX_HEADER:
            raise api_error("JSStreamHeaderExceedsMaximumErr")
        judged = PublishHeaders(header)
        if self._config.allow_msg_counter:
            counter.check(header, body)
        elif counter.increment(header) is not None:
            raise api_error("JSMessageIncrDisabledErr")
        check_stream(self._contents, header)
        refuse_ttl(self._config, header)
        read_ttl(self._contents, judged, sourced=False)
        if judged.refusal is not None:
            raise judged.refusal
        self._check_id(judged)
        check_source(header)
        if self._config.allow_msg_counter:
            body = self._count(subject, judged, body)
        self._check_sequences(subject, header)
        if schedule_headers.IN_HEADER in header:
            judged.header = schedule_headers.check(
                self._config, subject, judged.header, self._now, self._is_schedule
            )
            judged.ends = schedule_headers.ended_by(header)
        self._check_rollup(subject, judged)
        self._take(subject, judged, body)
        return Judged(subject, judged, body)

    def _check_id(self, judged: PublishHeaders) -> None:
        identifier = headers.get(judged.header, b"Nats-Msg-Id") or b""
        if not identifier:
            return
        if identifier in self._ids or self._contents.dedupe.find(identifier, self._now):
            raise api_error("JSAtomicPublishContainsDuplicateMessageErr")
        self._ids.add(identifier)
        judged.identifier = identifier

    def _count(self, subject: str, judged: PublishHeaders, body: bytes) -> bytes:
        previous = self._last.get(subject) or counter.stored(self._store, subject)
        judged.header, body = counter.counted(previous, subject, judged.header, body)
        self._last[subject] = judged.header, body
        if len(judged.header) + len(body) > self._most:
            raise api_error("JSStreamMessageExceedsMaximumErr")
        return body

    def _check_sequences(self, subject: str, header: bytes) -> None:
        get, last = headers.get, self._store.last_seq + self._messages
        expected = read_number(get(header, b"Nats-Expected-Last-Sequence"))
        if expected is not None:
            if expected != last:
                raise api_error("JSStreamWrongLastSequenceErrF", seq=last)
            if self._messages:
                raise api_error("JSStreamWrongLastSequenceConstantErr")
        other = get(header, b"Nats-Expected-Last-Subject-Sequence-Subject")
        expected = read_number(get(header, b"Nats-Expected-Last-Subject-Sequence"))
        if expected is None:
            if other:
                raise api_error("JSStreamExpectedLastSeqPerSubjectInvalid")
            return
        about = other.decode("utf-8", "surrogateescape") if other else subject
        if about in self._counts:
            raise api_error("JSStreamWrongLastSequenceConstantErr")
        found = self._expected.get(about)
        if found is None:
            found = self._expected[about] = last_on(self._contents, about)
        if found != expected:
            raise api_error("JSStreamWrongLastSequenceErrF", seq=found)

    def _check_rollup(self, subject: str, judged: PublishHeaders) -> None:
        rollup = headers.get(judged.header, ROLLUP)
        if not rollup:
            return
        error = ""
        if not self._config.allow_rollup_hdrs or self._config.deny_purge:
            error = "rollup not permitted"
        elif rollup == b"sub":
            error = "batch rollup sub invalid" if subject in self._counts else ""
        elif rollup == b"all":
            error = "batch rollup all invalid" if self._counts else ""
        else:
            error = f'rollup value invalid: "{rollup.decode("utf-8", "replace")}"'
        if error:
            raise api_error("JSStreamRollupFailedF", err=error)
        judged.rollup = rollup

    def _is_schedule(self, subject: str) -> bool | None:
        known = self._schedules.get(subject)
        return self._contents.schedules.is_last(subject) if known is None else known

    def _take(self, subject: str, judged: PublishHeaders, body: bytes) -> None:
        """Count the message, and check the limits under discard new. Raises ApiError."""
        config, store = self._config, self._store
        self._messages += 1
        self._counts[subject] = self._counts.get(subject, 0) + 1
        self._schedules[subject] = schedule_headers.is_schedule(judged.header)
        self._bytes += store.size_of(subject, len(judged.header), len(body))
        if config.discard != "new":
            return
        error = ""
        if 0 < config.max_msgs < store.messages + self._messages:
            error = "maximum messages exceeded"
        elif 0 < config.max_bytes < store.bytes + self._bytes:
            error = "maximum bytes exceeded"
        elif config.discard_new_per_subject and not judged.rollup:
            of_subject = store.subject_count(subject) + self._counts[subject]
            if of_subject > config.max_msgs_per_subject:
                error = "maximum messages per subject exceeded"
        if error:
            raise api_error("JSStreamStoreFailedF", err=error)
