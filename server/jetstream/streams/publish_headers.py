"""PublishHeaders: the validated headers of a published message.

Promises: `validate` returns only if the conditions in the headers hold. Otherwise it raises ApiError with the
reference's code, in the reference's order, or records the error as `refusal`. It reads the store and changes
nothing. Messages without headers never come here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....protocol import headers
from ....protocol.errors import ApiError, api_error
from . import counter, schedule_headers
from .dedupe import Duplicate
from .source_header import HEADER as SOURCE
from .ttl import parse_ttl

if TYPE_CHECKING:
    from ....protocol.api.stream import StreamConfig
    from .contents import StreamContents
    from .dedupe import DedupeWindow

VERSION = b"NATS/1.0\r\n"
ROLLUP = b"Nats-Rollup"
REQUEST_INFO = b"Nats-Request-Info"


class PublishHeaders:
    """The parts of a message's headers that matter after the checks.

    header: the header block as it will be stored.
    identifier: the message id, b"" for none.
    expected_id: the id that the last message must have, None for any.
    rollup: b"", b"sub" or b"all".
    ttl: ns; 0 for none, -1 for never.
    ends: the subject of the schedule that ends with the message, "" for none.
    refusal: the error of a check that comes after those for duplicates and for the expected message id.
    """

    __slots__ = ("ends", "expected_id", "header", "identifier", "refusal", "rollup", "ttl")

    def __init__(self, header: bytes) -> None:
        self.header = header
        self.identifier = b""
        self.expected_id: bytes | None = None
        self.rollup = b""
        self.ttl = 0
        self.ends = ""
        self.refusal: ApiError | None = None

    def rollups(self, subject: str, sequence: int) -> list[tuple[str, int]]:
        """Return what the message replaces: subjects ("" for all) before its sequence."""
        found = [(self.ends, sequence)] if self.ends else []
        if self.rollup:
            found.append((subject if self.rollup == b"sub" else "", sequence))
        return found


def validate(
    contents: StreamContents, subject: str, header: bytes, body: bytes, *, sourced: bool
) -> PublishHeaders:
    """Validate the headers of a message for `subject`. Raises ApiError.

    sourced: whether the message comes from a source, so that most checks were made by its origin.
    """
    header = _without_status(header)
    special = header.count(b"\r\nNats-")
    if not special:
        return PublishHeaders(header)
    if special == 1 and (identifier := headers.get(header, b"Nats-Msg-Id")):
        publish_headers = PublishHeaders(header)
        publish_headers.identifier = identifier
        return publish_headers
    header = headers.remove(header, (REQUEST_INFO,))
    publish_headers = PublishHeaders(header)
    if not header:
        return publish_headers
    get = headers.get
    if not sourced:
        _check_features(contents.config, header, body)
        _check_expected(contents, subject, header)
        if schedule_headers.IN_HEADER in header:
            now, last = contents.deps.clock.now(), contents.schedules.is_last
            header = publish_headers.header = schedule_headers.check(
                contents.config, subject, header, now, last
            )
        check_source(header)
    if contents.schedules.active:
        publish_headers.ends = schedule_headers.ended_by(header)
    publish_headers.identifier = get(header, b"Nats-Msg-Id") or b""
    publish_headers.expected_id = get(header, b"Nats-Expected-Last-Msg-Id") or None
    _read_rollup(contents, publish_headers, sourced=sourced)
    read_ttl(contents, publish_headers, sourced=sourced)
    return publish_headers


def check_duplicate(dedupe: DedupeWindow, publish_headers: PublishHeaders, now: int) -> None:
    """Check the message id and the expected last id, and then raise the refusal found by `validate`.

    This is the order in which errors win. Raises Duplicate and ApiError.
    """
    if publish_headers.identifier:
        known = dedupe.find(publish_headers.identifier, now)
        if known:
            raise Duplicate(known)
    expected = publish_headers.expected_id
    if expected is not None and expected != dedupe.last_id:
        raise api_error("JSStreamWrongLastMsgIDErrF", id=dedupe.last_id.decode("utf-8", "replace"))
    if publish_headers.refusal is not None:
        raise publish_headers.refusal


def _without_status(header: bytes) -> bytes:
    if not header.startswith(b"NATS/1.0 "):
        return header
    header = VERSION + header[header.find(b"\r\n") + 2 :]
    return b"" if header == headers.EMPTY else header


def plain_header(header: bytes) -> bytes:
    """Return a header block as it is stored: without a status, and without who sent the request."""
    return headers.remove(_without_status(header), (REQUEST_INFO,))


def check_source(header: bytes) -> None:
    """Raise ApiError if a client says that its message is a copy from a source."""
    if headers.get(header, SOURCE):
        raise api_error("JSMessageSourceHdrNotAllowedErr")


def check_stream(contents: StreamContents, header: bytes) -> None:
    """Raise ApiError if the publisher expects another stream."""
    expected = headers.get(header, b"Nats-Expected-Stream")
    if expected and expected != contents.name.encode():
        raise api_error("JSStreamNotMatchErr")


def refuse_ttl(config: StreamConfig, header: bytes) -> None:
    """Raise ApiError if the message has a TTL, and the stream has none."""
    if not config.allow_msg_ttl and headers.get(header, b"Nats-TTL") and _asks_for_ttl(header):
        raise api_error("JSMessageTTLDisabledErr")


def _check_features(config: StreamConfig, header: bytes, body: bytes) -> None:
    """Raise ApiError for the headers of features that the stream does not enable, and wrong increments."""
    get = headers.get
    if get(header, b"Nats-Batch-Id"):
        raise api_error("JSAtomicPublishDisabledErr")
    if config.allow_msg_counter:
        counter.check(header, body)
    elif counter.increment(header) is not None:
        raise api_error("JSMessageIncrDisabledErr")


def read_number(value: bytes | None) -> int | None:
    """Read an expected sequence, None if there is none. What is no number becomes -1, which never matches."""
    if not value:
        return None
    return int(value) if value.isdigit() else -1


def _check_expected(contents: StreamContents, subject: str, header: bytes) -> None:
    get = headers.get
    check_stream(contents, header)
    refuse_ttl(contents.config, header)
    other = get(header, b"Nats-Expected-Last-Subject-Sequence-Subject")
    expected = read_number(get(header, b"Nats-Expected-Last-Subject-Sequence"))
    if expected is not None:
        last = last_on(contents, other.decode("utf-8", "surrogateescape") if other else subject)
        if last != expected:
            raise api_error("JSStreamWrongLastSequenceErrF", seq=last)
    elif other:
        raise api_error("JSStreamExpectedLastSeqPerSubjectInvalid")
    expected = read_number(get(header, b"Nats-Expected-Last-Sequence"))
    if expected is not None and expected != contents.store.last_seq:
        raise api_error("JSStreamWrongLastSequenceErrF", seq=contents.store.last_seq)


def _asks_for_ttl(header: bytes) -> bool:
    try:
        return parse_ttl(headers.get(header, b"Nats-TTL") or b"") != 0
    except ApiError:
        return False


def last_on(contents: StreamContents, subject: str) -> int:
    """Return the last sequence on a subject, which may have wildcards; 0 if there is none."""
    if "*" in subject or ">" in subject:
        message = contents.store.last(subject)
        return message.seq if message is not None else 0
    return contents.store.subject_last(subject)


def _read_rollup(contents: StreamContents, publish_headers: PublishHeaders, *, sourced: bool) -> None:
    rollup = headers.get(publish_headers.header, ROLLUP)
    if not rollup:
        return
    config = contents.config
    allowed = config.allow_rollup_hdrs and not config.deny_purge
    if not allowed and not sourced:
        publish_headers.refusal = api_error("JSStreamRollupFailedF", err="rollup not permitted")
    elif rollup not in {b"sub", b"all"}:
        text = rollup.decode("utf-8", "replace")
        publish_headers.refusal = api_error("JSStreamRollupFailedF", err=f'rollup value invalid: "{text}"')
    elif allowed:
        publish_headers.rollup = rollup


def read_ttl(contents: StreamContents, publish_headers: PublishHeaders, *, sourced: bool) -> None:
    """Read the TTL. An invalid one is refused after all other checks, even where TTLs are not allowed."""
    value = headers.get(publish_headers.header, b"Nats-TTL")
    if not value or (sourced and not contents.config.allow_msg_ttl):
        return
    try:
        ttl = parse_ttl(value)
    except ApiError as error:
        if not sourced:
            publish_headers.refusal = publish_headers.refusal or error
        return
    if not contents.config.allow_msg_ttl:
        return
    publish_headers.ttl = ttl
    publish_headers.header = contents.expiry.adjust(
        publish_headers.header, publish_headers.ttl, one_per_subject=contents.config.max_msgs_per_subject == 1
    )
