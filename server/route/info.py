"""RouteDocuments: the INFO and CONNECT that this server sends over routes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...protocol.wire import encode
from ..connection import connect_info
from ..connection.addresses import reachable

if TYPE_CHECKING:
    from ..client.info import InfoDocument
    from ..config.options import ClusterOptions, Options, PermissionsOptions
    from ..identity import ServerIdentity

PROTOCOL = 3


class RouteDocuments:
    """What this server sends about itself to its peers.

    options: the options in force.
    dynamic: whether the name of the cluster was generated.
    port: the listener's port; 0 until it listens.
    leaf_urls: where leafs may connect to.
    gateway_url: where other clusters may connect to.
    """

    def __init__(self, options: Options, identity: ServerIdentity, clients: InfoDocument) -> None:
        """`clients` is what this server sends about itself to its clients."""
        self.options = options
        self.identity = identity
        self.dynamic = False
        self.port = 0
        self.leaf_urls: list[str] = []
        self.gateway_url = ""
        self._clients = clients

    @property
    def jetstream(self) -> bool:
        """Whether this server has JetStream."""
        return self._clients.jetstream

    @property
    def cluster(self) -> ClusterOptions:
        """The options of the cluster."""
        assert self.options.cluster is not None
        return self.options.cluster

    def info(self, **more: object) -> bytes:
        """Return the INFO for a peer. `more` are fields of one connection; empty ones are left out."""
        cluster = self.cluster
        document = connect_info.of_server(
            self.identity, PROTOCOL, cluster.host, self.port, headers=not self.options.no_header_support
        )
        optional: dict[str, Any] = {
            "auth_required": cluster.authorization is not None and bool(cluster.authorization.user),
            "tls_required": cluster.tls is not None,
            "tls_verify": cluster.tls is not None,
            "max_payload": self.options.max_payload,
            "jetstream": self._clients.jetstream,
            "ip": f"nats-route://{cluster.advertise}/" if cluster.advertise else "",
            "cluster": cluster.name,
            "cluster_dynamic": self.dynamic,
            "domain": self.options.jetstream.domain if self._clients.jetstream else "",
            "connect_urls": [] if cluster.no_advertise else self.client_urls(),
            "ws_connect_urls": [] if cluster.no_advertise else self._clients.own_websocket_urls,
            "ldm": self._clients.lame_duck,
            "lnoc": True,
            "lnocu": True,
            "leafnode_urls": self.leaf_urls,
            "route_pool_size": max(0, cluster.pool_size or 3),
            "gateway_url": self.gateway_url,
            **_permissions(cluster.permissions),
            **more,
        }
        document.update((key, value) for key, value in optional.items() if value)
        return encode.info(document)

    def connect(self, user: str, password: str) -> bytes:
        """Return the CONNECT for a peer. An empty `user` or `password` is replaced by that of the options."""
        given = self.cluster.authorization
        user = user or (given.user if given is not None else "")
        password = password or (given.password if given is not None else "")
        optional = {"user": user, "pass": password}
        return encode.connect(
            {
                "echo": True,
                "verbose": False,
                "pedantic": False,
                **{key: value for key, value in optional.items() if value},
                "tls_required": self.cluster.tls is not None,
                "headers": not self.options.no_header_support,
                "name": self.identity.id,
                "cluster": self.cluster.name,
                **({"cluster_dynamic": True} if self.dynamic else {}),
                "lnoc": True,
                "lnocu": True,
            }
        )

    def client_urls(self) -> list[str]:
        """Return where clients may connect to this server."""
        if self.options.client_advertise:
            return [self.options.client_advertise]
        port = self._clients.port
        return [f"{host}:{port}" for host in reachable(self.options.host)] if port else []


def _permissions(given: PermissionsOptions | None) -> dict[str, dict[str, list[str]]]:
    """Return the permissions as INFO shows them.

    There import is what peers may send here, and export what they may receive.
    """
    if given is None:
        return {}
    sides = (("import", given.publish), ("export", given.subscribe))
    return {
        name: {kind: list(entries) for kind in ("allow", "deny") if (entries := getattr(side, kind))}
        for name, side in sides
        if side is not None
    }
