"""GatewayRemote: another cluster, which this server dials at one of its addresses, again and again.

A configured cluster is dialled forever. One that others announced is dialled once and, if all of its
addresses fail, up to `connect_retries` times more, or as long as it has a connection to this server.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Protocol

from ..connection.remote import INTERVAL, Remote, wait_after
from ..route.remote import RouteAddress

if TYPE_CHECKING:
    from ..config.options import TLSOptions
    from ..connection import SocketProtocol
    from .peer import GatewayContext

_SOON = INTERVAL // 10
_DIAL_SECONDS = 1.0
_MOST_ADDRESSES = 256  # of one cluster


class GatewayTable(Protocol):
    """The gateways of this server."""

    def hears_from(self, name: str) -> bool:
        """Return whether a server of that cluster is connected to this one."""

    def forget(self, remote: GatewayRemote) -> None:
        """Dial a cluster no longer."""


class GatewayRemote(Remote):
    """Another cluster.

    name: its name.
    explicit: whether it is configured.
    tls: the TLS options for connections to it; None for none.
    host_name: the name that certificates must have, if an address is only a number; "" if unknown.
    target: the address that was dialled last.
    """

    _context: GatewayContext

    def __init__(
        self,
        context: GatewayContext,
        table: GatewayTable,
        make: Callable[[GatewayRemote], SocketProtocol],
        name: str,
        tls: TLSOptions | None,
    ) -> None:
        """`make` makes the protocol of a dialled socket."""
        super().__init__(context, make)
        self._table = table
        self.name = name
        self.tls = tls
        self.explicit = False
        self.host_name = ""
        self.target = RouteAddress("", 0)
        self._configured: dict[str, RouteAddress] = {}
        self._addresses: dict[str, RouteAddress] = {}

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

    def lost(self, protocol: SocketProtocol) -> None:
        """See Remote. It dials again soon."""
        del protocol
        self._protocol = None
        self._later(random.randrange(_SOON) + (INTERVAL if self.explicit else 0))

    async def _dial(self) -> None:
        """See Remote. All addresses fail together."""
        reason = "no address"
        addresses = list(self._addresses.values())
        random.shuffle(addresses)
        for self.target in addresses:
            self._log(f"Connecting to {self._kind} gateway {self.name!r} at {self.target}", error=False)
            reason = await self._connect(self.target.host, self.target.port, _DIAL_SECONDS)
            if not reason:
                return
        self._failed(reason)

    @property
    def _kind(self) -> str:
        return "explicit" if self.explicit else "implicit"

    def _log(self, text: str, *, error: bool) -> None:
        attempt = self.attempts + 1
        self._report(f"{text} (attempt {attempt})", attempt, error=error)

    def _failed(self, reason: str) -> None:
        self._log(f"Error connecting to {self._kind} gateway {self.name!r}: {reason}", error=True)
        self.attempts += 1
        gateway = self._context.gateway
        given_up = self.attempts > gateway.connect_retries and not self._table.hears_from(self.name)
        if not self.explicit and given_up:
            self._table.forget(self)
        else:
            self._later(wait_after(self.attempts, grows=gateway.connect_backoff))
