"""LoginPart: how logins of all kinds wait: for an account, for a callout service, or for bcrypt.

Promises that bcrypt runs off the loop, that nothing else is served before the final result, and that a user
whose password must be checked is refused unless the check passes, wherever the user was looked up. While an
account is looked up, the time to log in continues to run. While a password is checked it does not, as in the
reference (`processConnect` in client.go).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from ..accounts.auth import REFUSED, AuthResult
from .connection import Connection
from .connection_part import ConnectionPart

if TYPE_CHECKING:
    from ..clock import Timer

C = TypeVar("C", bound=Connection)


class LoginPart(ConnectionPart[C]):
    """The login of one connection of type C, and the time in which it must be done."""

    __slots__ = ("_timer",)

    def __init__(self, connection: C) -> None:
        super().__init__(connection)
        self._timer: Timer | None = None

    def stop(self) -> None:
        """Cancel the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _follow(self, result: AuthResult, decided: Callable[[AuthResult], None]) -> None:
        """Call `decided` with the final result, and serve nothing before."""
        if result.lookup is None and result.check is None:
            decided(result)
            return
        self._connection.pause()
        self._ask_further(result, decided)

    def _ask_further(self, result: AuthResult, decided: Callable[[AuthResult], None]) -> None:
        go_on = partial(self._come, decided)
        if result.lookup is not None:
            if result.timed:
                self.stop()
            result.lookup(go_on)
        elif result.check is not None:
            self.stop()  # the credentials have come in time
            connection, accepted = self._connection, result._replace(check=None)
            connection.context.passwords(
                result.check, lambda passed: go_on(accepted if passed else REFUSED), connection.peer[0]
            )

    def _come(self, decided: Callable[[AuthResult], None], result: AuthResult) -> None:
        """Go on with what a look-up or a check of the password has found."""
        connection = self._connection
        if connection.closed_reason:
            return
        if result.lookup is not None or result.check is not None:
            self._ask_further(result, decided)
            return
        decided(result)
        connection.context.flusher.flush()
        connection.resume()
