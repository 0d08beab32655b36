"""The time and the random numbers of a replicated stream, which come from the entries of its log.

Promises:
- `now` never goes back, and is the same on every replica at the same entry, whatever their clocks show.
- Timers run only on the leader and change nothing by themselves: when one is due by the leader's own clock,
  `due` is called, and proposes what all replicas then do.
- Random numbers are the same for the same entry.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...clock import Clock, Timer


class LogTime:
    """The time that the log has reached; the clocks of a stream share it.

    real: the server's clock.
    at: the time of the newest entry applied, ns.
    leading: whether this replica leads; only then do timers run.
    """

    __slots__ = ("at", "leading", "real")

    def __init__(self, real: Clock, at: int = 0) -> None:
        self.real = real
        self.at = at
        self.leading = False

    def pass_to(self, time: int) -> None:
        """Advance to the time (ns) of an entry that is applied; never goes back."""
        self.at = max(self.at, time)

    def next(self) -> int:
        """Return the time for the next entry, ns: the server's, but never before the newest entry."""
        return max(self.real.now(), self.at)


class _NoTimer:
    """The timer that a follower gets: it never runs."""

    def cancel(self) -> None:
        """Do nothing."""


_NONE = _NoTimer()


class LogClock:
    """A `Clock` that shows the time of the log, as the module's promises say."""

    __slots__ = ("_due", "_time")

    def __init__(self, time: LogTime, due: Callable[[], None]) -> None:
        self._time = time
        self._due = due

    def now(self) -> int:
        """Return the time of the entry that is being applied, or of the newest one, in ns."""
        return self._time.at

    def call_later(self, delay: int, callback: Callable[[], None]) -> Timer:
        """Call `due` once `delay` ns after `now` have passed, if this replica leads.

        `callback` is not called: it is what the entry that `due` proposes will do on all replicas.
        """
        del callback
        time = self._time
        if not time.leading:
            return _NONE
        return time.real.call_later(max(time.at + delay - time.real.now(), 0), self._due)

    def soon(self, callback: Callable[[], None]) -> Timer:
        """Call `due` as soon as the log's time is the present, as `call_later` does."""
        return self.call_later(0, callback)


class DeterministicRandom:
    """Random numbers that follow from an entry's index, and how many were drawn for it before."""

    __slots__ = ("_index", "_throws")

    def __init__(self) -> None:
        self._index = self._throws = 0

    def begin(self, index: int) -> None:
        """Begin the numbers of the entry `index`."""
        self._index, self._throws = index, 0

    def below(self, bound: int) -> int:
        """Return a number in [0, bound)."""
        self._throws += 1
        seed = b"%d %d" % (self._index, self._throws)
        return int.from_bytes(blake2b(seed, digest_size=8).digest(), "big") % bound
