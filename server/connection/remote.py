"""Remote: another server that this one dials, and dials again when the connection is lost.

Promises one connection or one attempt at a time, and that failed attempts are logged as often as the options
say. Each kind of connection decides what to dial (`_dial`), and when again.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from ..clock import SECOND
from .dial import dial
from .reports import is_reported

if TYPE_CHECKING:
    from ..clock import Timer
    from .context import ConnectionContext
    from .socket_protocol import SocketProtocol

INTERVAL = SECOND
_LONGEST = 30 * SECOND


class Remote:
    """Another server to dial.

    attempts: how many failed since the last success.
    """

    def __init__(self, context: ConnectionContext, make: Callable[[Any], SocketProtocol]) -> None:
        """`make` makes the protocol of a dialled socket."""
        self.attempts = 0
        self._context = context
        self._connected_before = False
        self._make_protocol = partial(make, self)
        self._protocol: SocketProtocol | None = None
        self._task: asyncio.Task[None] | None = None
        self._timer: Timer | None = None
        self._stopped = False

    # --- what each kind defines

    def _wanted(self) -> bool:
        """Return whether to dial, now that it is time."""
        return True

    async def _dial(self) -> None:
        """Connect somewhere by `_connect`, or see to it that there is another attempt."""
        raise NotImplementedError

    def lost(self, protocol: SocketProtocol) -> None:
        """Take note that the socket of `protocol` is closed."""
        raise NotImplementedError

    # --- all kinds

    @property
    def idle(self) -> bool:
        """Whether it neither has a connection nor dials."""
        return self._protocol is None and self._timer is None and self._task is None

    def start(self) -> None:
        """Dial in the next turn of the loop."""
        self._later(0)

    def stop(self) -> asyncio.Task[None] | None:
        """Stop dialling. Return the attempt that is being cancelled, if any."""
        self._stopped = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._task is not None:
            self._task.cancel()
        return self._task

    def succeeded(self) -> None:
        """Take note that the server has answered."""
        self.attempts = 0
        self._connected_before = True

    def _later(self, delay: int) -> None:
        """Dial in `delay` ns, or when it was already going to."""
        if not self._stopped and self._timer is None:
            self._timer = self._context.clock.call_later(delay, self._begin)

    def _begin(self) -> None:
        self._timer = None
        if not self._stopped and self._task is None and self._protocol is None and self._wanted():
            self._task = asyncio.get_running_loop().create_task(self._attempt())

    async def _attempt(self) -> None:
        try:
            await self._dial()
        finally:
            self._task = None

    async def _connect(self, host: str, port: int, seconds: float) -> str:
        """Connect to an address. Return why that failed; "" if it did not."""

        def make() -> SocketProtocol:
            self._protocol = self._make_protocol()
            return self._protocol

        try:
            await dial(make, host, port, seconds)
        except (OSError, TimeoutError, UnicodeError) as error:
            self._protocol = None
            return str(error) or "dial timeout"
        return ""

    def _report(self, text: str, attempt: int, *, error: bool = True) -> None:
        """Log what concerns an attempt, of which not every one is an error (or a notice) in the log."""
        log = self._context.log
        reported = is_reported(self._context.options, attempt, connected_before=self._connected_before)
        level = (log.error if error else log.info) if reported else log.debug
        level(text)


def wait_after(attempts: int, *, grows: bool) -> int:
    """Return the ns to wait after that many failed attempts; `grows` with them, or is the same every time."""
    wait = min(INTERVAL << min(attempts - 1, 5), _LONGEST) if grows else INTERVAL
    return wait + random.randrange(INTERVAL // 10)
