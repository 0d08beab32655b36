"""GatewayRemote: another cluster, which this server dials at one of its addresses, again and again.

A configured cluster is dialled forever. One that others announced is dialled once and, if all of its
addresses fail, up to `connect_retries` times more, or as long as it has a connection to this server.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Protocol

from ..clock import SECOND
from ..connection.dial import dial
from ..connection.reports import is_reported
from ..route.remote import RouteAddress

if TYPE_CHECKING:
    from ..clock import Timer
    from ..config.options import TLSOptions
    from ..connection import SocketProtocol
    from .peer import GatewayContext

_INTERVAL = SECOND
_LONGEST = 30 * SECOND
_SOON = SECOND // 10
_DIAL_SECONDS = 1.0
_MOST_ADDRESSES = 256  # of one cluster


class GatewayTable(Protocol):
    """The gateways of this server."""

    def hears_from(self, name: str) -> bool:
        """Return whether a server of that cluster is connected to this one."""

    def forget(self, remote: GatewayRemote) -> None:
        """Dial a cluster no longer."""


class GatewayRemote:
    """Another cluster.

    name: its name.
    explicit: whether it is configured.
    tls: the TLS options for connections to it; None for none.
    host_name: the name that certificates must have, if an address is only a number; "" if unknown.
    target: the address that was dialled last.
    attempts: how often all addresses failed since the last success.
    """

    def __init__(
        self,
        context: GatewayContext,
        table: GatewayTable,
        make: Callable[[GatewayRemote], SocketProtocol],
        name: str,
        tls: TLSOptions | None,
    ) -> None:
        """`make` makes the protocol of a dialled socket."""
        self._context = context
        self._table = table
        self._make = make
        self.name = name
        self.tls = tls
        self.explicit = False
        self.host_name = ""
        self.attempts = 0
        self.target = RouteAddress("", 0)
        self._configured: dict[str, RouteAddress] = {}
        self._addresses: dict[str, RouteAddress] = {}
        self._connected_before = False
        self._protocol: SocketProtocol | None = None
        self._task: asyncio.Task[None] | None = None
        self._timer: Timer | None = None
        self._stopped = False

    @property
    def urls(self) -> list[str]:
        """Its addresses, `host:port`."""
        return sorted(self._addresses)

    def configure(self, urls: Iterable[str]) -> None:
        """Take the addresses of the configuration. Raises ValueError if one of them is none."""
        self.explicit = True
        for address in map(RouteAddress.parse, urls):
            self._configured[str(address)] = address
            if (
                not self.host_name
                and any(letter.isalpha() for letter in address.host)
                and ":" not in address.host
            ):
                self.host_name = address.host
        self._addresses = {**self._configured}

    def replace_learnt(self, urls: Iterable[str]) -> None:
        """Take the addresses that the cluster itself has announced, besides those of the configuration."""
        self._addresses = {**self._configured}
        self.learn(urls)

    def learn(self, urls: Iterable[str]) -> None:
        """Add addresses that others have announced. What is no address is passed over."""
        for url in urls:
            if len(self._addresses) >= _MOST_ADDRESSES:
                return
            try:
                address = RouteAddress.parse(f"nats://{url}")
            except ValueError:
                continue
            self._addresses.setdefault(str(address), RouteAddress(address.host, address.port))

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

    def reached(self) -> None:
        """Take note that a server of the cluster has answered."""
        self.attempts = 0
        self._connected_before = True

    def lost(self) -> None:
        """Dial again soon, because the socket is closed."""
        self._protocol = None
        self._later(random.randrange(_SOON) + (_INTERVAL if self.explicit else 0))

    def _later(self, delay: int) -> None:
        if not self._stopped and self._timer is None:
            self._timer = self._context.clock.call_later(delay, self._begin)

    def _begin(self) -> None:
        self._timer = None
        if not self._stopped and self._task is None and self._protocol is None:
            self._task = asyncio.get_running_loop().create_task(self._dial())

    async def _dial(self) -> None:
        def make() -> SocketProtocol:
            self._protocol = self._make(self)
            return self._protocol

        reason = "no address"
        addresses = list(self._addresses.values())
        random.shuffle(addresses)
        try:
            for self.target in addresses:
                self._log(f"Connecting to {self._kind} gateway {self.name!r} at {self.target}", error=False)
                try:
                    await dial(make, self.target.host, self.target.port, _DIAL_SECONDS)
                except (OSError, TimeoutError, UnicodeError) as error:
                    self._protocol = None
                    reason = str(error) or "dial timeout"
                else:
                    return
        finally:
            self._task = None
        self._failed(reason)

    @property
    def _kind(self) -> str:
        return "explicit" if self.explicit else "implicit"

    def _log(self, text: str, *, error: bool) -> None:
        context, attempt = self._context, self.attempts + 1
        reported = is_reported(context.options, attempt, connected_before=self._connected_before)
        level = (context.log.error if error else context.log.info) if reported else context.log.debug
        level(f"{text} (attempt {attempt})")

    def _failed(self, reason: str) -> None:
        self._log(f"Error connecting to {self._kind} gateway {self.name!r}: {reason}", error=True)
        self.attempts += 1
        gateway = self._context.gateway
        given_up = self.attempts > gateway.connect_retries and not self._table.hears_from(self.name)
        if not self.explicit and given_up:
            self._table.forget(self)
            return
        wait = _INTERVAL
        if gateway.connect_backoff:
            wait = min(_INTERVAL << min(self.attempts - 1, 5), _LONGEST)
        self._later(wait + random.randrange(_INTERVAL // 10))
