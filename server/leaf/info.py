"""LeafDocuments: the INFO that leafs get from a hub, and the CONNECT with which a leaf answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...protocol.limits import API_LEVEL
from ...protocol.wire import encode
from ..connection import connect_info

if TYPE_CHECKING:
    from ..config.options import Options, RemoteOptions
    from ..identity import ServerIdentity

PROTOCOL = 3


class LeafDocuments:
    """What this server sends about itself to leafs.

    port: the listener's port; 0 until it listens.
    urls: where leafs may connect to.
    websocket_urls: where they may connect to other servers of the cluster over WebSocket.
    """

    def __init__(self, options: Options, identity: ServerIdentity) -> None:
        self.options = options
        self.identity = identity
        self.jetstream = False
        self.port = 0
        self.urls: list[str] = []
        self.websocket_urls: list[str] = []

    @property
    def cluster(self) -> str:
        """The name of the cluster; "" if there is none."""
        return self.options.cluster.name if self.options.cluster is not None else ""

    @property
    def domain(self) -> str:
        """The JetStream domain; "" if there is none."""
        return self.options.jetstream.domain

    def info(self, more: dict[str, Any]) -> bytes:
        """Return the INFO for one connection, whose own fields are `more`. Empty fields are left out.

        `leafnode_urls` is always there, because it tells the peer that this is a leaf port.
        """
        options, identity = self.options, self.identity
        leafnodes = options.leafnodes
        document = connect_info.of_server(
            identity, PROTOCOL, leafnodes.host, self.port, headers=not options.no_header_support
        )
        document["auth_required"] = True
        if leafnodes.tls is not None:
            document["tls_required"] = True
            if leafnodes.tls.verify:
                document["tls_verify"] = True
        document["max_payload"] = options.max_payload
        optional = {"jetstream": self.jetstream, "cluster": self.cluster, "domain": self.domain, **more}
        document.update((key, value) for key, value in optional.items() if value)
        document["api_lvl"] = API_LEVEL
        document["info_on_connect"] = True
        document["leafnode_urls"] = self.urls
        if self.websocket_urls:
            document["ws_connect_urls"] = self.websocket_urls
        return encode.info(document)

    def connect(
        self, remote: RemoteOptions, credentials: dict[str, str], compression: str, *, jetstream: bool
    ) -> bytes:
        """Return the CONNECT for a hub. `credentials` has the names of the wire.

        compression: the mode that was agreed on.
        """
        optional: dict[str, Any] = {
            "version": self.identity.version,
            **credentials,
            "server_id": self.identity.id,
            "domain": self.domain,
            "name": self.identity.name,
            "is_hub": remote.hub,
            "cluster": self.cluster or self.identity.name,
            "headers": not self.options.no_header_support,
            "jetstream": jetstream,
            "deny_pub": remote.deny_imports,
            "isolate": remote.request_isolation,
            "compress_mode": compression,
            "remote_account": remote.account,
            "protocol": PROTOCOL,
        }
        return encode.connect({key: value for key, value in optional.items() if value})
