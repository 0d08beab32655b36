"""What the two ends of a gateway send about themselves: both INFO, and the one that dialled CONNECT."""

from __future__ import annotations

import base64
import binascii
from dataclasses import field
from typing import Any

from ...protocol.errors import PeerError
from ...protocol.lazy_dataclass import dataclass
from ..connection import connect_info

# What an INFO asks for besides telling of its sender (nats-server's gateway.go, gatewayCmdGossip and others).
GOSSIP, ALL_INTEREST_BEGINS, ALL_INTEREST_SENT = 1, 2, 3
_LONGEST_NAME = 255
_MOST_URLS = 256  # of one cluster


@dataclass(slots=True)
class GatewayConnect:
    """The CONNECT of a gateway.

    name: the id of the server that dialled.
    gateway: the name of its cluster.
    """

    user: str = ""
    password: str = ""
    name: str = ""
    gateway: str = ""
    lang: str = ""

    @classmethod
    def parse(cls, raw: bytes) -> GatewayConnect:
        """Parse the JSON of a CONNECT.

        Raises PeerError (which closes without a text) if it is no object or a field has the wrong type.
        """
        known, _ = connect_info.read(raw, "CONNECT", _CONNECT)
        return cls(**known)


@dataclass(slots=True)
class GatewayInfo:
    """The INFO of a peer, of a third cluster that a peer announces, or a command.

    gateway: the name of the cluster.
    gateway_urls: where to reach it, `host:port`.
    gateway_cmd, gateway_cmd_payload: a command and, in base 64, the account that it concerns.
    go: what a server of pyjs runs on, "python" and a version. A nats-server does not say.
    gateway_iom: whether all interest is told without being asked for by messages (interest-only mode).
    gateway_nrp: whether replies are mapped by the present prefix, `_GR_`.
    jetstream: whether it is a server of pyjs with JetStream; nats-server does not say.
    """

    server_id: str = ""
    server_name: str = ""
    version: str = ""
    go: str = ""
    proto: int = 0
    headers: bool = False
    gateway: str = ""
    gateway_urls: list[str] = field(default_factory=list)
    gateway_cmd: int = 0
    gateway_cmd_payload: str = ""
    gateway_iom: bool = False
    gateway_nrp: bool = False
    jetstream: bool = False

    @classmethod
    def parse(cls, raw: bytes) -> GatewayInfo:
        """Parse the JSON of an INFO.

        Raises PeerError (which closes without a text) if it is no object, a field has the wrong type, or the
        name of the cluster cannot be one.
        """
        known, _ = connect_info.read(raw, "INFO", _INFO)
        info = cls(**known)
        if len(info.gateway) > _LONGEST_NAME or " " in info.gateway:
            raise PeerError("", True, "Protocol Violation: no name of a cluster")
        del info.gateway_urls[_MOST_URLS:]
        return info

    @property
    def account(self) -> bytes:
        """The account that a command concerns; b"" if it names none."""
        try:
            return base64.b64decode(self.gateway_cmd_payload, validate=True)
        except (binascii.Error, ValueError):
            return b""


def announced(given: dict[str, Any]) -> tuple[str, list[str]]:
    """Return the cluster that an INFO over a route announces, and its URLs; "" if it announces none."""
    name, urls = given.get("gateway"), given.get("gateway_urls")
    if not isinstance(name, str) or not isinstance(urls, list) or len(name) > _LONGEST_NAME:
        return "", []
    return name, [url for url in urls[:_MOST_URLS] if isinstance(url, str)]


_CONNECT = connect_info.kinds(GatewayConnect)
_INFO = connect_info.kinds(GatewayInfo)
