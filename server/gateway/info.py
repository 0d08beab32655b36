"""GatewayDocuments: the INFO and CONNECT that this server sends over gateways, and about them over routes."""

from __future__ import annotations

import base64
from collections import Counter
from typing import TYPE_CHECKING, Any

from ...protocol.wire import encode
from ..connection import connect_info
from ..connection.addresses import EVERYWHERE, bracketed, reachable
from .connect_info import GOSSIP

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..client.info import InfoDocument
    from ..config.options import GatewayOptions, Options
    from ..identity import ServerIdentity

PROTOCOL = 3


class GatewayDocuments:
    """What this server says of its cluster.

    options: the options in force.
    url: where other clusters reach this server, `host:port`; "" until it listens.
    """

    def __init__(self, options: Options, identity: ServerIdentity, clients: InfoDocument) -> None:
        """`clients` is what this server sends about itself to its clients."""
        self.options = options
        self.identity = identity
        self._clients = clients
        self.url = ""
        self._urls: Counter[str] = Counter()  # of all servers of the cluster

    @property
    def gateway(self) -> GatewayOptions:
        """The options of gateways."""
        assert self.options.gateway is not None
        return self.options.gateway

    @property
    def jetstream(self) -> bool:
        """Whether this server has JetStream."""
        return self._clients.jetstream

    @property
    def urls(self) -> list[str]:
        """Where other clusters reach this one."""
        return sorted(self._urls)

    def listens(self, port: int) -> None:
        """Take note of the listener's port."""
        host = self.gateway.host
        if self.gateway.advertise:
            self.url = self.gateway.advertise
        elif host in EVERYWHERE:
            self.url = f"{next(iter(reachable(host)), bracketed(host))}:{port}"
        else:
            self.url = f"{bracketed(host)}:{port}"
        self.add_url(self.url)

    def add_url(self, url: str) -> bool:
        """Add the address of a server of this cluster. Return whether it is new."""
        self._urls[url] += 1
        return self._urls[url] == 1

    def remove_url(self, url: str) -> bool:
        """Remove the address of a server that is gone. Return whether it was the last one of that address."""
        if url not in self._urls:
            return False
        self._urls[url] -= 1
        if self._urls[url] > 0:
            return False
        del self._urls[url]
        return True

    def info(self) -> bytes:
        """Return the INFO for a peer."""
        host, _, port = self.url.rpartition(":")
        document = connect_info.of_server(
            self.identity,
            PROTOCOL,
            host.strip("[]"),
            int(port) if port.isdigit() else 0,
            headers=not self.options.no_header_support,
        )
        gateway = self.gateway
        optional: dict[str, Any] = {
            "auth_required": gateway.authorization is not None and bool(gateway.authorization.user),
            "tls_required": gateway.tls is not None,
            "tls_verify": gateway.tls is not None,
            "jetstream": self.jetstream,
        }
        document.update((key, value) for key, value in optional.items() if value)
        return encode.info(
            document
            | {
                "max_payload": self.options.max_payload,
                "gateway": gateway.name,
                "gateway_urls": self.urls,
                "gateway_url": self.url,
                "gateway_nrp": True,
                "gateway_iom": True,
            }
        )

    def connect(self, user: str, password: str, *, tls: bool) -> bytes:
        """Return the CONNECT for a peer. Without a `user`, those of the options are sent."""
        given = self.gateway.authorization
        if not user and given is not None:
            user, password = given.user, given.password
        credentials = {"user": user, "pass": password} if user else {}
        return encode.connect(
            {
                "verbose": False,
                "pedantic": False,
                **credentials,
                "tls_required": tls,
                "name": self.identity.id,
                "gateway": self.gateway.name,
            }
        )

    def gossip(self, name: str, urls: Iterable[str], *, over_route: bool = False) -> bytes:
        """Return the INFO that announces another cluster, to a gateway or within this cluster.

        The server id that a route gets is nobody's, so that older servers do not dial it.
        """
        server_id = f"GW{self.identity.id}" if over_route else self.identity.id
        return encode.info(
            {
                "server_id": server_id,
                "server_name": self.identity.name,
                "gateway": name,
                "gateway_urls": list(urls),
                "gateway_cmd": GOSSIP,
            }
        )

    def command(self, number: int, account: bytes) -> bytes:
        """Return the INFO with a command that concerns an account."""
        payload = base64.b64encode(account).decode()
        return encode.info(
            {
                "server_id": self.identity.id,
                "gateway": self.gateway.name,
                "gateway_cmd": number,
                "gateway_cmd_payload": payload,
            }
        )
