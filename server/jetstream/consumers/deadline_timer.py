"""An alarm: one timer of a part, set again and again for the earliest thing it waits for."""

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
        """Whether the alarm is set."""
        return self._timer is not None

    def at(self, when: int) -> None:
        """Ring at `when` (ns) at the latest; an alarm set for an earlier time stays as it is."""
        if self._timer is not None:
            if self._at <= when:
                return
            self._timer.cancel()
        self._at = when
        self._timer = self._clock.call_later(max(when - self._clock.now(), 0), self._ring)

    def again(self, when: int) -> None:
        """Ring at `when`, whatever it was set for."""
        self.clear()
        self.at(when)

    def clear(self) -> None:
        """Do not ring."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _ring(self) -> None:
        self._timer = None
        self._callback()
