"""DeadlineTimer: one timer, set again and again for the earliest deadline."""

from collections.abc import Callable

from ...clock import Clock, Timer


class DeadlineTimer:
    """Calls `callback` once when its time has come. At most one timer is pending at any moment."""

    __slots__ = ("_at", "_callback", "_clock", "_timer")

    def __init__(self, clock: Clock, callback: Callable[[], None]) -> None:
        self._clock = clock
        self._callback = callback
        self._timer: Timer | None = None
        self._at = 0

    @property
    def pending(self) -> bool:
        """Whether the timer is set."""
        return self._timer is not None

    def at(self, when: int) -> None:
        """Fire at `when` (ns) at the latest; a timer set for an earlier time stays as it is."""
        if self._timer is not None:
            if self._at <= when:
                return
            self._timer.cancel()
        self._at = when
        self._timer = self._clock.call_later(max(when - self._clock.now(), 0), self._fire)

    def again(self, when: int) -> None:
        """Fire at `when`, whatever it was set for."""
        self.clear()
        self.at(when)

    def clear(self) -> None:
        """Do not fire."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _fire(self) -> None:
        self._timer = None
        self._callback()
