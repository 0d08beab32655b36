"""The headers of scheduled messages: `Nats-Schedule…` of a schedule, `Nats-Scheduler` of what it brings.

Promises: nothing is changed. A publish that the reference refuses raises ApiError with the reference's code,
in its order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ....protocol import headers
from ....protocol.errors import ApiError, api_error
from ....protocol.subject import collide, is_literal
from .schedule_pattern import Due, due, zone_of
from .ttl import HEADER as TTL
from .ttl import parse_ttl

if TYPE_CHECKING:
    from ....protocol.api.stream import StreamConfig
    from ....store.message import StoredMessage

PATTERN = b"Nats-Schedule"
ZONE = b"Nats-Schedule-Time-Zone"
OWN_TTL = b"Nats-Schedule-TTL"
OWN_ROLLUP = b"Nats-Schedule-Rollup"
TARGET = b"Nats-Schedule-Target"
SOURCE = b"Nats-Schedule-Source"
SCHEDULER = b"Nats-Scheduler"
NEXT = b"Nats-Schedule-Next"
PURGE = b"purge"
ROLLUP = b"Nats-Rollup"
IN_HEADER = b"\r\n" + PATTERN  # begins all of them

IsSchedule = Callable[[str], "bool | None"]  # of the last message on a subject; None if there is none


def due_of(header: bytes, after: int, now: int, *, in_phase: bool = False) -> Due | None:
    """Return when a message's schedule is due, None if it has none. Raises ApiError; see `due`."""
    zone = zone_of(headers.get(header, ZONE))
    pattern = headers.get(header, PATTERN)
    if not pattern:
        return None
    return due(pattern.decode("utf-8", "replace"), zone, after, now, in_phase=in_phase)


def is_schedule(header: bytes) -> bool:
    """Return whether a stored message is a schedule."""
    return bool(headers.get(header, PATTERN))


def check(config: StreamConfig, subject: str, header: bytes, now: int, last: IsSchedule) -> bytes:
    """Return the header to store: a schedule replaces what is on its subject. Raises ApiError."""
    try:
        found = due_of(header, now, now)
    except ApiError as error:
        raise error if config.allow_msg_schedules else api_error("JSMessageSchedulesDisabledErr") from None
    if found is not None:
        header = _check_schedule(config, subject, header)
    following = headers.get(header, NEXT)
    if following:
        _check_purge(config, subject, header, last)
    elif headers.get(header, SCHEDULER):
        raise api_error("JSMessageSchedulesSchedulerInvalidErr")
    return header


def _check_schedule(config: StreamConfig, subject: str, header: bytes) -> bytes:
    get = headers.get
    if not config.allow_msg_schedules:
        raise api_error("JSMessageSchedulesDisabledErr")
    ttl = get(header, OWN_TTL)
    if ttl:
        try:
            parse_ttl(ttl)
        except ApiError:
            raise api_error("JSMessageSchedulesTTLInvalidErr") from None
    if get(header, OWN_ROLLUP) not in {None, b"", b"sub"}:
        raise api_error("JSMessageSchedulesRollupInvalidErr")
    if ttl and not config.allow_msg_ttl:
        raise api_error("JSMessageTTLDisabledErr")
    target, source = subject_in(header, TARGET), subject_in(header, SOURCE)
    if not is_literal(target) or target == subject:
        raise api_error("JSMessageSchedulesTargetInvalidErr")
    if source and (source in {target, subject} or not is_literal(source)):
        raise api_error("JSMessageSchedulesSourceInvalidErr")
    if not _belongs(config, target):
        raise api_error("JSMessageSchedulesTargetInvalidErr")
    if source and not _belongs(config, source):
        raise api_error("JSMessageSchedulesSourceInvalidErr")
    rollup = get(header, ROLLUP)
    if not rollup:
        return headers.add(header, ROLLUP, b"sub")
    if rollup != b"sub":
        raise api_error("JSMessageSchedulesRollupInvalidErr")
    return header


def _belongs(config: StreamConfig, subject: str) -> bool:
    return any(collide(pattern, subject) for pattern in config.subjects)


def _check_purge(config: StreamConfig, subject: str, header: bytes, last: IsSchedule) -> None:
    """Check a publish that ends a schedule. Raises ApiError."""
    scheduler = subject_in(header, SCHEDULER)
    if headers.get(header, NEXT) != PURGE or not is_literal(scheduler) or scheduler == subject:
        raise api_error("JSMessageSchedulesSchedulerInvalidErr")
    if not config.allow_msg_schedules:
        raise api_error("JSMessageSchedulesDisabledErr")
    if last(scheduler) is False:
        raise api_error("JSMessageSchedulesSchedulerInvalidErr")


def subject_in(header: bytes, key: bytes) -> str:
    """Return the subject that a header names, "" for none."""
    return (headers.get(header, key) or b"").decode("utf-8", "surrogateescape")


def ended_by(header: bytes) -> str:
    """Return the subject of the schedule that ends with a message, "" for none."""
    return subject_in(header, SCHEDULER) if headers.get(header, NEXT) == PURGE else ""


def brought(schedule: StoredMessage, content: StoredMessage, following: str) -> tuple[str, bytes, bytes]:
    """Return the (subject, header, body) that a schedule brings to its target.

    content: the message whose header and body it brings: the schedule itself, or its source's last one.
    following: when it fires next, or "purge".
    """
    get, own = headers.get, schedule.header
    header = headers.remove(content.header, prefix=PATTERN)
    header = headers.remove(header, (b"Nats-Msg-Id", TTL, ROLLUP), prefix=b"Nats-Expected-")
    header = headers.add(header, SCHEDULER, schedule.subject.encode("utf-8", "surrogateescape"))
    header = headers.add(header, NEXT, following.encode())
    if ttl := get(own, OWN_TTL):
        header = headers.add(header, TTL, ttl)
    if rollup := get(own, OWN_ROLLUP):
        header = headers.add(header, ROLLUP, rollup)
    return subject_in(own, TARGET), header, content.body
