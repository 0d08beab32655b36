"""AssignedSession: the login of a user that a callout service assigned, by a server's configuration."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...keys import Reason
from ..accounts.users import NOT_SHOWN

if TYPE_CHECKING:
    from ..accounts.users import AuthenticatedConnection
    from ..clock import Clock, Timer

EXPIRED = "Authentication Expired"


class AssignedSession:
    """One login; see accounts.users.LoginSession.

    still_good: whether the answer would count by the options in force now.
    """

    def __init__(self, expires: int, clock: Clock, still_good: Callable[[], bool]) -> None:
        self.expires = expires
        self._clock = clock
        self._still_good = still_good
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

    def recheck(self) -> None:
        """Close the connection if, after a reload, another answer might be given. It may ask again."""
        if self._holder is not None and not self._still_good():
            self._holder.refuse()

    def describe(self) -> dict[str, Any]:
        """Return nothing: the assigned token is not shown, only the user and the account."""
        return dict(NOT_SHOWN)
