"""What the two ends of a route send about themselves: CONNECT of the one that dialled, INFO of both."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..connection import connect_info


@dataclass(slots=True)
class RouteConnect:
    """CONNECT. `name` is the server's id. lang: only clients have one."""

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
        """Raises PeerError (closes, without a text) when it is no object or a field has the wrong type."""
        known, _ = connect_info.read(raw, "CONNECT", _CONNECT)
        return cls(**known)


@dataclass(slots=True)
class RouteInfo:
    """INFO of a peer, or, passed on by one, of a third server. given: the whole document."""

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
    leafnode_urls: list[str] = field(default_factory=list)
    given: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def parse(cls, raw: bytes) -> RouteInfo:
        """Raises PeerError (closes, without a text) when it is no object or a field has the wrong type."""
        known, given = connect_info.read(raw, "INFO", _INFO)
        return cls(**known, given=given)


_CONNECT = connect_info.kinds(RouteConnect)
_INFO = connect_info.kinds(RouteInfo)
