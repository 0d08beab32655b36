"""GatewayRemotes: the other clusters that this server dials, be they configured or announced by others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from .remote import GatewayRemote

if TYPE_CHECKING:
    from ..connection import SocketProtocol
    from .inbound import InboundGateway
    from .peer import GatewayContext

_MOST_IMPLICIT = 1024  # clusters that others announce


class GatewayRemotes:
    """The other clusters, by name.

    known: all of them.
    """

    def __init__(
        self,
        context: GatewayContext,
        make: Callable[[GatewayRemote], SocketProtocol],
        inbound: Mapping[int, InboundGateway],
    ) -> None:
        """`inbound` has the connections from other clusters."""
        self._context = context
        self._make = make
        self._inbound = inbound
        self._stopped = False
        self.known: dict[str, GatewayRemote] = {}

    def start(self) -> None:
        """Dial the configured clusters. An entry with the name of this cluster is passed over."""
        gateway = self._context.gateway
        for given in gateway.gateways:
            if given.name != gateway.name:
                remote = self._add(given.name)
                remote.configure(given.urls)
                remote.tls = given.tls or gateway.tls
                remote.start()

    def take_tls(self) -> None:
        """Apply the TLS options in force to new connections."""
        gateway = self._context.gateway
        configured = {given.name: given.tls for given in gateway.gateways}
        for name, remote in self.known.items():
            remote.tls = configured.get(name) or gateway.tls

    async def stop(self) -> None:
        """Dial no longer."""
        self._stopped = True
        tasks = [task for remote in self.known.values() if (task := remote.stop()) is not None]
        await asyncio.gather(*tasks, return_exceptions=True)

    def learn(self, name: str, urls: list[str]) -> None:
        """Dial a cluster that was announced, unless it is known; then only take its addresses."""
        if not name or name == self._context.name or self._stopped:
            return
        remote = self.known.get(name)
        if remote is not None:
            remote.learn(urls)
        elif len(self.known) < _MOST_IMPLICIT:
            remote = self._add(name)
            remote.learn(urls)
            if remote.urls:
                remote.start()
            else:
                self.forget(remote)

    def _add(self, name: str) -> GatewayRemote:
        remote = self.known[name] = GatewayRemote(
            self._context, self, self._make, name, self._context.gateway.tls
        )
        return remote

    def hears_from(self, name: str) -> bool:
        """See GatewayTable."""
        return any(connection.name == name for connection in self._inbound.values())

    def forget(self, remote: GatewayRemote) -> None:
        """See GatewayTable."""
        remote.stop()
        self.known.pop(remote.name, None)
