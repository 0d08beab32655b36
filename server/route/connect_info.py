"""What the two ends of a route send about themselves: both INFO, and the one that dialled CONNECT."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from ...protocol.lazy_dataclass import dataclass
from ..connection import connect_info

_MOST_URLS = 256  # of one kind, of one server: each client is told of them


@dataclass(slots=True)
class RouteConnect:
    """The CONNECT of a route.

    name: the id of the server that dialled.
    lang: only clients send it.
    """

    user: str = ""
    password: str = ""
    name: str = ""
    cluster: str = ""
    cluster_dynamic: bool = False
    headers: bool = False
    lnoc: bool = False
    lnocu: bool = False
    gateway: str = ""
    lang: str = ""

    @classmethod
    def parse(cls, raw: bytes) -> RouteConnect:
        """Parse the JSON of a CONNECT.

        Raises PeerError (which closes without a text) if it is no object or a field has the wrong type.
        """
        known, _ = connect_info.read(raw, "CONNECT", _CONNECT)
        return cls(**known)


@dataclass(slots=True)
class RouteInfo:
    """The INFO of a peer, or of a third server or another cluster that a peer announces.

    compression: the mode that it has, "" for none.
    route_pool_size: how many connections its pool has; 0 for no pool.
    route_pool_idx: the place of this connection in the pool.
    route_account: the pinned account that the connection is for, "" for none.
    route_acc_add_reqid: the request to pin that account from now on; an INFO without account answers it.
    gateway_url: where the peer accepts gateways.
    gateway: the name of the other cluster.
    given: the whole document.
    """

    server_id: str = ""
    server_name: str = ""
    version: str = ""
    host: str = ""
    port: int = 0
    proto: int = 0
    max_payload: int = 0
    headers: bool = False
    jetstream: bool = False
    auth_required: bool = False
    tls_required: bool = False
    cluster: str = ""
    cluster_dynamic: bool = False
    domain: str = ""
    ip: str = ""
    ldm: bool = False
    lnoc: bool = False
    lnocu: bool = False
    connect_urls: list[str] = field(default_factory=list)
    ws_connect_urls: list[str] = field(default_factory=list)
    leafnode_urls: list[str] = field(default_factory=list)
    compression: str = ""
    route_pool_size: int = 0
    route_pool_idx: int = 0
    route_account: str = ""
    route_acc_add_reqid: str = ""
    gateway_url: str = ""
    gateway: str = ""
    given: dict[str, Any] = field(default_factory=dict)

    @property
    def has_other_jetstream(self) -> bool:
        """Whether the peer has JetStream, and is a nats-server: these tell their version of Go."""
        return self.jetstream and str(self.given.get("go", "")).startswith("go")

    @classmethod
    def parse(cls, raw: bytes) -> RouteInfo:
        """Parse the JSON of an INFO.

        Raises PeerError (which closes without a text) if it is no object or a field has the wrong type.
        """
        known, given = connect_info.read(raw, "INFO", _INFO)
        info = cls(**known, given=given)
        for urls in (info.connect_urls, info.ws_connect_urls, info.leafnode_urls):
            del urls[_MOST_URLS:]
        return info


_CONNECT = connect_info.kinds(RouteConnect)
_INFO = connect_info.kinds(RouteInfo)
