"""MessageSchedules: the messages of a stream that are schedules, and when each fires next.

Promises:
- A schedule fires at its time or soon after it, once if several times have passed.
- It ends with its message: one that was removed, or replaced on its subject by a message that no schedule
  brought, fires no more.
- Everything is read back from the stored messages: what a schedule brought says when it fires next. Where
  that is gone, no time counts that is not after the last message, since firing stores one.

Source: ADR-51.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING

from ....protocol import headers
from ....protocol.errors import ApiError
from ....protocol.timestamp import TimestampError, parse_exact
from ....store.errors import StoreError
from ...clock import SECOND, DeadlineTimer
from ...slices import SECONDS as SLICE
from . import schedule_headers
from .schedule_headers import NEXT, SCHEDULER, due_of, is_schedule, subject_in

if TYPE_CHECKING:
    from ....protocol.api.stream import StreamConfig
    from ....store.message import StoredMessage
    from ....store.stream import StreamStore
    from ...clock import Clock

REST = SECOND // 4  # ns: the least time until the timer fires
MOST_AT_ONCE = 64  # schedules that fire in one turn
SPARE = 1024  # entries of the heap that may be out of date, besides one for each schedule

Fired = tuple[int, str]  # a schedule's sequence, and when it fires next (RFC 3339), or "purge"


class MessageSchedules:
    """The schedules of one stream.

    active: whether the stream allows them.
    fire: is called when schedules are due; asks `due` which.
    """

    def __init__(self, config: StreamConfig, store: StreamStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._timer = DeadlineTimer(clock, self._fire)
        self.fire: Callable[[], None] = self.stop  # until the stream can
        self._times: dict[str, tuple[int, int]] = {}  # subject -> (when, sequence)
        self._heap: list[tuple[int, int, str]] = []  # (when, sequence, subject), also of earlier times
        self.configure(config)

    def configure(self, config: StreamConfig) -> None:
        """Take over a configuration."""
        self.active = config.allow_msg_schedules

    def stored(self, sequence: int, subject: str, header: bytes, time: int) -> None:
        """Take note that a message with schedule headers was stored, at `time` (ns)."""
        if self._note(sequence, subject, header, time, time):
            self.rearm()

    def load(self, message: StoredMessage) -> None:
        """Take in a stored message when the stream is opened, oldest first; `rearm` must follow."""
        header = message.header
        if schedule_headers.IN_HEADER not in header:
            return
        last = max(message.time, self._store.last_time) // SECOND * SECOND + 1  # what was due then has fired
        self._note(message.seq, message.subject, header, message.time, last)

    def _note(self, sequence: int, subject: str, header: bytes, time: int, last: int) -> bool:
        """Note what a message says of schedules, and return whether it does.

        last: ns; what repeats has fired until then.
        """
        try:
            found = due_of(header, time, last, in_phase=True)
        except ApiError:
            return False
        if found is not None:
            self._set(subject, found.at, sequence)
            return True
        scheduler = subject_in(header, SCHEDULER)
        known = self._times.get(scheduler)
        if known is None:
            return False
        try:
            at = parse_exact((headers.get(header, NEXT) or b"").decode("utf-8", "replace"))
        except TimestampError:
            return False
        self._set(scheduler, at, known[1])
        return True

    def _set(self, subject: str, at: int, sequence: int) -> None:
        self._times[subject] = at, sequence
        heapq.heappush(self._heap, (at, sequence, subject))
        if len(self._heap) > 2 * self._store.messages + SPARE:
            self._prune()

    def _prune(self) -> None:
        """Forget schedules whose messages are gone, and times that no longer count."""
        count = self._store.subject_count
        self._times = {subject: known for subject, known in self._times.items() if count(subject)}
        self._heap = [(at, sequence, subject) for subject, (at, sequence) in self._times.items()]
        heapq.heapify(self._heap)

    def rearm(self, *, soon: bool = False) -> None:
        """Set the timer for the schedule that is due first.

        soon: whether to go on in the next turn if some are due already, as not all of them fire in one.
        """
        self._timer.clear()
        if self._heap:
            now, at = self._clock.now(), self._heap[0][0]
            self._timer.at(now if soon and at <= now else max(at, now + REST))

    def due(self, now: int) -> list[Fired]:
        """Return the schedules that fire at `now` (ns), by sequence; not all of them if there are very many.

        They are due until what they bring is stored. Those whose message is gone are forgotten.
        """
        found: list[Fired] = []
        again: list[tuple[int, int, str]] = []
        until = perf_counter() + SLICE
        while self._heap and self._heap[0][0] <= now and len(found) < MOST_AT_ONCE and perf_counter() < until:
            at, sequence, subject = heapq.heappop(self._heap)
            if self._times.get(subject) != (at, sequence):
                continue
            following = self._following(subject, sequence, at, now)
            if following:
                found.append((sequence, following))
                again.append((at, sequence, subject))
            else:
                del self._times[subject]
        for one in again:  # until it is known that it fired
            heapq.heappush(self._heap, one)
        return sorted(found)

    def _following(self, subject: str, sequence: int, at: int, now: int) -> str:
        """Return when a schedule that is due fires next, or "purge"; "" if it ended."""
        message = self.message(sequence)
        if message is None or message.subject != subject:
            return ""
        try:
            found = due_of(message.header, at, now)
        except ApiError:
            return ""
        if found is None:
            return ""
        return found.text if found.repeats else schedule_headers.PURGE.decode()

    def message(self, sequence: int) -> StoredMessage | None:
        """Return a schedule's message, None if it has ended."""
        try:
            message = self._store.get(sequence)
        except StoreError:
            return None
        if not is_schedule(message.header):
            return None
        later = self._store.next((message.subject,), sequence + 1)
        while later is not None and headers.get(later.header, SCHEDULER):
            later = self._store.next((message.subject,), later.seq + 1)
        return message if later is None else None

    def is_last(self, subject: str) -> bool | None:
        """Return whether the last message on a subject is a schedule, None if there is none."""
        message = self._store.last(subject)
        return None if message is None else is_schedule(message.header)

    def content(self, schedule: StoredMessage) -> StoredMessage:
        """Return the message whose content a schedule brings."""
        source = subject_in(schedule.header, schedule_headers.SOURCE)
        last = self._store.last(source) if source else None
        return schedule if last is None else last

    def failed(self, schedule: StoredMessage, following: str) -> None:
        """Take note that what a schedule brings could not be stored: it fires next when it should anyway."""
        try:
            self._set(schedule.subject, parse_exact(following), schedule.seq)
        except TimestampError:
            self._times.pop(schedule.subject, None)

    def _fire(self) -> None:
        self.fire()

    def stop(self) -> None:
        """Cancel the timer."""
        self._timer.clear()
