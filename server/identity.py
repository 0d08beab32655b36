"""Who this server is: id, name, the level of the reference it speaks, and when it started."""

from __future__ import annotations

import base64
import binascii
import platform
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..version import NATS_VERSION

if TYPE_CHECKING:
    from .config import Options

_SERVER_PREFIX = 13 << 3  # a leading "N" in base32


@dataclass(slots=True)
class ServerIdentity:
    """id: 56 characters with the form of a server's public key. start: ns. name: never empty."""

    id: str
    name: str
    start: int
    version: str = NATS_VERSION
    runtime: str = f"python{platform.python_version()}"

    @classmethod
    def new(cls, name: str, start: int, random_bytes: Callable[[int], bytes]) -> ServerIdentity:
        """A fresh identity; `name` "" takes the id."""
        server_id = _server_id(random_bytes(32))
        return cls(server_id, name or server_id, start)


def cluster_name(options: Options, identity: ServerIdentity) -> str:
    """The name of the cluster this server belongs to; "" for one that is alone.

    A server that only solicits leaf connections needs a stable name of its own and takes the server's, as
    the reference does.
    """
    cluster = options.cluster
    if cluster is not None and (cluster.name or cluster.port is not None):
        return cluster.name
    return identity.name if options.leafnodes.remotes else ""


def _server_id(raw: bytes) -> str:
    body = bytes([_SERVER_PREFIX]) + raw
    checksum = binascii.crc_hqx(body, 0)
    return base64.b32encode(body + checksum.to_bytes(2, "little")).decode().rstrip("=")
