"""The time and the random numbers that a replicated stream goes by: those of its log's entries.

Promises: `now` never falls, and is the same on every replica at the same entry, whatever their clocks show.
Timers only run on the leader and change nothing by themselves: when one is due by the leader's own clock,
`due` is called, which proposes what all replicas then do. Random numbers are the same for the same entry.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...clock import Clock, Timer


class LogTime:
    """Where the log has come to; shared by the clocks of a stream."""

    __slots__ = ("at", "leading", "real")

    def __init__(self, real: Clock, at: int = 0) -> None:
        self.real = real
        self.at = at
        self.leading = False

    def pass_to(self, time: int) -> None:
        """An entry of this time is applied."""
        self.at = max(self.at, time)

    def next(self) -> int:
        """The time for the next entry: this server's, unless that is behind the log."""
        return max(self.real.now(), self.at)


class _NoTimer:
    """What a follower gets for a timer."""

    def cancel(self) -> None:
        """Do nothing."""


_NONE = _NoTimer()


class LogClock:
    """A `Clock` of the log; see the module."""

    __slots__ = ("_due", "_time")

    def __init__(self, time: LogTime, due: Callable[[], None]) -> None:
        self._time = time
        self._due = due

    def now(self) -> int:
        """The time of the entry that is being applied, or was last."""
        return self._time.at

    def call_later(self, delay: int, callback: Callable[[], None]) -> Timer:
        """Have `due` called, `delay` ns after `now`; `callback` is what the entry will do."""
        del callback
        time = self._time
        if not time.leading:
            return _NONE
        return time.real.call_later(max(time.at + delay - time.real.now(), 0), self._due)


class DeterministicRandom:
    """Random numbers that follow from the log's index alone."""

    __slots__ = ("_index", "_throws")

    def __init__(self) -> None:
        self._index = self._throws = 0

    def begin(self, index: int) -> None:
        """The entry `index` is applied now."""
        self._index, self._throws = index, 0

    def below(self, bound: int) -> int:
        """Draw a number in [0, bound)."""
        self._throws += 1
        seed = b"%d %d" % (self._index, self._throws)
        return int.from_bytes(blake2b(seed, digest_size=8).digest(), "big") % bound
