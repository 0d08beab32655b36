"""The stream that rows are written to, found and checked before anything is published."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ...protocol.duration import SECOND, format_go
from ...protocol.subject import matches
from ..jetstream import JetStreamRequests, StreamStatus
from .errors import SinkError


@dataclass(frozen=True)
class TargetStream:
    """The stream that the rows are for; `stream` is "" when only the subjects of the rows say it."""

    stream: str = ""
    max_message: int = -1  # bytes of headers and payload; -1 without a limit
    duplicate_window: float = 0.0  # seconds
    subjects: tuple[str, ...] = ()  # that it stores


def find(
    api: JetStreamRequests,
    *,
    stream: str,
    subject: str,
    columns: Collection[str],
    retry_window: float | None,
    marks: str = "",
) -> TargetStream:
    """Find the stream, or the one that stores `subject`, and check that it accepts the rows.

    retry_window: seconds for which it must remember message ids, None without effectively-once
    marks: the prefix of the subjects of marks, "" without exactly-once

    Raises SinkError that says what to change, ApiError, and ClientError.
    """
    if not stream and subject:
        takers = api.streams(subject)
        if not takers:
            raise SinkError(
                f"no stream stores subject {subject}: add it to a stream, or change the option subject"
            )
        stream = takers[0]
    if not stream:
        if retry_window is not None:
            raise SinkError(
                "guarantee effectively-once needs the option stream when the subject is a column: "
                "the duplicate window of that stream is checked"
            )
        return TargetStream()
    found = api.stream(stream)
    _check_open(found)
    if subject and not any(matches(pattern, subject) for pattern in found.subjects):
        raise SinkError(f"stream {stream} stores {', '.join(found.subjects)}: not subject {subject}")
    if "ttl" in columns and not found.config.get("allow_msg_ttl"):
        raise SinkError(
            f"stream {stream} allows no TTL of single messages: drop the column ttl, or allow it with "
            f"pyjs stream edit {stream} --allow-msg-ttl"
        )
    if retry_window is not None:
        _check_window(found, retry_window)
    if marks:
        _check_marks(found, marks)
    largest = int(found.config.get("max_msg_size") or -1)
    return TargetStream(stream, largest, found.duplicate_window / SECOND, found.subjects)


def _check_open(stream: StreamStatus) -> None:
    if stream.sealed:
        raise SinkError(f"stream {stream.name} is sealed: it takes no messages any more")
    if stream.config.get("no_ack"):
        raise SinkError(
            f"stream {stream.name} acknowledges nothing: no write can know what it stores; "
            f"run: pyjs stream edit {stream.name} --ack"
        )
    if not stream.subjects:
        raise SinkError(
            f"stream {stream.name} stores no subjects (a mirror, or sources only): nothing can be published"
        )


def _check_marks(stream: StreamStatus, marks: str) -> None:
    """Raise SinkError if the stream takes no atomic batches, or does not store the marks."""
    if not stream.config.get("allow_atomic"):
        raise SinkError(
            f"guarantee exactly-once: stream {stream.name} takes no atomic batches (of nats-server 2.12 or "
            f"newer, or pyjs). Run: pyjs stream edit {stream.name} --allow-batch"
        )
    if not any(matches(pattern, f"{marks}.write.0") for pattern in stream.subjects):
        raise SinkError(
            f"guarantee exactly-once: stream {stream.name} does not store the marks of this write, "
            f"{marks}.*.*; add that subject to it, or give another markSubject"
        )


def _check_window(stream: StreamStatus, retry_window: float) -> None:
    """Raise SinkError if message ids are forgotten before rows may be sent for the last time."""
    if stream.duplicate_window >= retry_window * SECOND:
        return
    wanted = format_go(round(retry_window * SECOND))
    age = int(stream.config.get("max_age") or 0)
    limit = (
        f" (its max age of {format_go(age)} must be raised first)" if 0 < age < retry_window * SECOND else ""
    )
    raise SinkError(
        f"guarantee effectively-once: stream {stream.name} remembers message ids for "
        f"{format_go(stream.duplicate_window)}, rows may be sent again for {wanted} (option retryWindow). "
        f"Run: pyjs stream edit {stream.name} --dupe-window {wanted}{limit}"
    )
