"""AssignedSession: the login of a user that a callout service assigned, by a server's configuration."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..accounts.timed_session import TimedSession
from ..accounts.users import NOT_SHOWN

if TYPE_CHECKING:
    from ..clock import Clock


class AssignedSession(TimedSession):
    """One login; see accounts.users.LoginSession.

    still_good: whether the answer would count by the options in force now.
    """

    def __init__(self, expires: int, clock: Clock, still_good: Callable[[], bool]) -> None:
        super().__init__(expires, clock)
        self._still_good = still_good

    def recheck(self) -> None:
        """Close the connection if, after a reload, another answer might be given. It may ask again."""
        if self._holder is not None and not self._still_good():
            self._holder.refuse()

    def describe(self) -> dict[str, Any]:
        """Return nothing: the assigned token is not shown, only the user and the account."""
        return dict(NOT_SHOWN)
