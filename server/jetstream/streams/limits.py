"""StreamLimits: removes messages so that a stream stays within its configured limits.

Promises:
- After `enforce` the stream is within max_msgs, max_bytes and max_msgs_per_subject. If one message pushes out
  very many others, that takes a few more turns of the loop.
- One timer removes messages older than max_age, oldest first. The cost per message does not grow with the
  stream.
- max_age never removes a message in `keep`, which are those with a per-message TTL of "never".
- `removed` is called for every message that is removed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import inf
from time import perf_counter

from ....protocol.api.stream import StreamConfig
from ....protocol.errors import ApiError, api_error
from ....store.message import StoredMessage
from ....store.stream import StreamStore
from ...clock import Clock, Timer
from ...slices import SECONDS, Steps

MIN_TIMER = 10_000_000  # ns: timers closer together than this would expire messages one by one
MOST_AT_ONCE = 500  # messages removed at a time, so that the loop stays responsive
MOST_PASSED = 2048  # messages that never expire, passed at a time

Removed = Callable[[int, str], None]
Spread = Callable[[Steps[int]], None]  # runs steps over the next turns of the loop


class StreamLimits:
    """The limits of one stream over its store.

    active: whether there is a limit of messages or bytes, so that `enforce` has work.
    ages: whether max_age is set.
    discard_new: whether new messages are refused where old ones would otherwise be removed.
    keep: the sequences that max_age does not apply to.
    expire_one: removes one message that is too old; `MessageTTLs` replaces it to leave delete markers.
    """

    __slots__ = (
        "_aging",
        "_clock",
        "_config",
        "_crowded",
        "_left",
        "_removed",
        "_spread",
        "_store",
        "_timer",
        "_trims",
        "active",
        "ages",
        "discard_new",
        "expire_one",
        "keep",
    )

    def __init__(
        self,
        config: StreamConfig,
        store: StreamStore,
        clock: Clock,
        removed: Removed,
        spread: Spread,
    ) -> None:
        self._spread = spread
        self._trims = False  # whether the stream is being trimmed in slices
        self._store = store
        self._clock = clock
        self._removed = removed
        self._timer: Timer | None = None
        self._crowded: list[str] = []  # subjects with too many messages
        self.keep: set[int] = set()
        self._aging = 0  # max_age applies to no message below this sequence
        self._left = 0  # kept messages that `_pass_kept` may still pass in this turn
        self.expire_one: Callable[[int], None] = self._expire_one
        self.configure(config)

    def configure(self, config: StreamConfig) -> None:
        """Take over a configuration. `enforcing` then applies it to what is stored."""
        self._config = config
        self.discard_new = config.discard == "new"
        self.ages = config.max_age > 0
        self.active = config.max_msgs > 0 or config.max_bytes > 0 or config.max_msgs_per_subject > 0

    def check_room(self, subject: str, size: int, *, rolls_up: bool = False) -> ApiError | None:
        """Return why a message of `size` stored bytes does not fit under discard new, None if it fits.

        A message that pushes out the oldest one of its subject takes its place, unless
        discard_new_per_subject forbids that. A message that rolls up may do it all the same.
        """
        config, store = self._config, self._store
        most = config.max_msgs_per_subject
        replaces = most > 0 and store.subject_count(subject) >= most
        if replaces and config.discard_new_per_subject and not rolls_up:
            return api_error("JSStreamStoreFailedF", err="maximum messages per subject exceeded")
        if 0 < config.max_msgs <= store.messages and not replaces:
            return api_error("JSStreamStoreFailedF", err="maximum messages exceeded")
        if 0 < config.max_bytes < store.bytes + size and not (
            replaces and self._size_of_first(subject) >= size
        ):
            return api_error("JSStreamStoreFailedF", err="maximum bytes exceeded")
        return None

    def _size_of_first(self, subject: str) -> int:
        store = self._store
        message = store.next((subject,), 0)
        return store.size_of(subject, len(message.header), len(message.body)) if message is not None else 0

    def enforce(self, subject: str) -> None:
        """Bring the stream back within its limits, after a message on `subject` was stored."""
        store, most, left = self._store, self._config.max_msgs_per_subject, MOST_AT_ONCE
        if most > 0:
            while left and store.subject_count(subject) > most:
                first = store.subject_first(subject)
                if not first or store.remove(first) is None:
                    break
                self._removed(first, subject)
                left -= 1
        self._enforce_totals(left)

    def _enforce_totals(self, left: int) -> None:
        """Remove up to `left` messages now, and further ones in slices.

        Under discard new no stored message is removed for a limit of the whole stream.
        """
        if self.discard_new:
            return
        config, store = self._config, self._store
        most, size = config.max_msgs, config.max_bytes
        while store.messages and ((0 < most < store.messages) or (0 < size < store.bytes)):
            if not left:
                self._trim_in_slices()
                return
            sequence, subject, _ = store.remove_first()
            self._removed(sequence, subject)
            left -= 1

    def _trim_in_slices(self) -> None:
        if not self._trims:
            self._trims = True
            self._spread(self._trimming())

    def _trimming(self) -> Steps[int]:
        """Bring the stream back within max_msgs and max_bytes; return how many messages were removed."""
        before = self._store.messages
        self._trims = True
        try:
            while not self.discard_new and self._store.messages:
                last = self._store.first_seq
                self._enforce_totals(MOST_AT_ONCE)
                if self._store.first_seq == last:
                    break
                yield
        finally:
            self._trims = False
        return max(before - self._store.messages, 0)

    def inspect(self) -> None:
        """Find the subjects with too many messages, for `recover`.

        Costs by what is stored; may run in any thread.
        """
        most = self._config.max_msgs_per_subject
        if most > 0:
            counts = self._store.subjects()
            self._crowded = [subject for subject, count in counts.items() if count > most]

    def recover(self) -> Steps[None]:
        """Apply the limits to everything stored, in steps, after `inspect`."""
        crowded, self._crowded = self._crowded, []
        yield from self._thinning([crowded])
        yield from self._trimming()
        self.rearm()

    def enforcing(self) -> Steps[int]:
        """Apply the limits to everything stored, after a change of configuration.

        Returns how many messages were removed.
        """
        gone = 0
        if self._config.max_msgs_per_subject > 0:
            gone += yield from self._thinning(self._store.matching(()))
        gone += yield from self._trimming()
        self.rearm()
        return gone

    def _thinning(self, pages: Iterable[list[str]]) -> Steps[int]:
        """Bring these subjects back within max_msgs_per_subject; return how many messages were removed."""
        store, gone, paused_at = self._store, 0, 0
        for page in pages:
            for subject in page:
                while 0 < self._config.max_msgs_per_subject < store.subject_count(subject):
                    first = store.subject_first(subject)
                    if not first or store.remove(first) is None:
                        break
                    self._removed(first, subject)
                    gone += 1
                    if gone - paused_at >= MOST_AT_ONCE:
                        paused_at = gone
                        yield
            yield
        return gone

    def stored(self) -> None:
        """See that the age timer runs, after a message was stored."""
        if self._timer is None and self._config.max_age > 0:
            self.rearm()

    def rearm(self) -> None:
        """Set the timer for the oldest message."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._config.max_age <= 0 or self._store.messages <= len(self.keep):
            return
        oldest = self._store.first_time
        if self.keep:
            self._left = MOST_PASSED
            if not self._pass_kept():
                self._timer = self._clock.soon(self._run)
                return
            message = self._next_aging()
            if message is None:
                return
            oldest = message.time
        delay = max(oldest + self._config.max_age - self._clock.now(), MIN_TIMER)
        self._timer = self._clock.call_later(delay, self._run)

    def expiring(self) -> Steps[int]:
        """Remove what is too old by now, at most `MOST_AT_ONCE` messages, oldest first.

        Returns how many were removed. That depends only on the time and on what is stored, not on how far
        messages that never expire were passed before.
        """
        self.stop()
        while self.keep and not self._pass_kept():
            self._left = MOST_PASSED
            yield
        before = self._store.messages
        self._expire(inf)
        return before - self._store.messages

    def _run(self) -> None:
        self._expire(perf_counter() + SECONDS)

    def _expire(self, until: float) -> None:
        self._timer = None
        if self._config.max_age <= 0:
            return
        store, deadline = self._store, self._clock.now() - self._config.max_age
        self._left = MOST_PASSED
        for _ in range(MOST_AT_ONCE):
            if self.keep:
                message = self._next_aging() if self._pass_kept() else None
                if message is None or message.time > deadline:
                    break
                sequence = message.seq
            elif store.messages == 0 or store.first_time > deadline:
                break
            else:
                sequence = store.first_seq
            self.expire_one(sequence)
            if perf_counter() >= until:
                self._later()
                return
        else:
            self._later()
            return
        self.rearm()

    def _later(self) -> None:
        """Continue in the next turn. The timer is replaced, as a delete marker may have set it meanwhile."""
        self.stop()
        self._timer = self._clock.soon(self._run)

    def _pass_kept(self) -> bool:
        """Move `_aging` past up to `_left` messages that never expire; return False if there may be more.

        A message that was passed is never looked at again: new messages come at the end, and whether a
        message expires never changes.
        """
        store, keep = self._store, self.keep
        sequence = store.next_seq((), self._aging)
        while sequence in keep and self._left:
            self._left -= 1
            sequence = store.next_seq((), sequence + 1)
        self._aging = sequence or store.last_seq + 1
        return sequence not in keep

    def _next_aging(self) -> StoredMessage | None:
        """Read the first message that max_age applies to, after `_pass_kept` returned True."""
        message = self._store.next((), self._aging)
        return None if message is None or message.seq in self.keep else message

    def _expire_one(self, sequence: int) -> None:
        if sequence == self._store.first_seq:
            _, subject, _ = self._store.remove_first()
        else:
            message = self._store.next((), sequence)
            subject = message.subject if message is not None else ""
            self._store.remove(sequence)
        self._removed(sequence, subject)

    def stop(self) -> None:
        """Cancel the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
