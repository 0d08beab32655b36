"""TimedSession: the part of a login session that ends with its token."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...keys import Reason
from .users import EXPIRED

if TYPE_CHECKING:
    from ..clock import Clock, Timer
    from .users import AuthenticatedConnection


class TimedSession:
    """A login that ends at `expires`, in ns; 0 means never. See accounts.users.LoginSession."""

    def __init__(self, expires: int, clock: Clock) -> None:
        self.expires = expires
        self._clock = clock
        self._holder: AuthenticatedConnection | None = None
        self._timer: Timer | None = None

    def begin(self, holder: AuthenticatedConnection) -> None:
        """Begin to watch over `holder`. Its login ends when the token does."""
        self._holder = holder
        if self.expires:
            self._timer = self._clock.call_later(max(0, self.expires - self._clock.now()), self._expired)

    def end(self) -> None:
        """See LoginSession."""
        self._holder = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _expired(self) -> None:
        self._timer = None
        if self._holder is not None:
            self._holder.fail(Reason.USER_EXPIRED.live_error, EXPIRED)
