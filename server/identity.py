"""The identity of this server: its id, its name, the nats-server version it follows, and when it started."""

from __future__ import annotations

import base64
import binascii
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from .. import native
from ..protocol.lazy_dataclass import dataclass
from ..version import NATS_VERSION

if TYPE_CHECKING:
    from ..keys import KeyPair
    from .config import Options

_SERVER_PREFIX = 13 << 3  # gives a leading "N" in base32


@dataclass(slots=True)
class ServerIdentity:
    """The identity of one run of a server.

    id: 56 characters in the form of a server's public key.
    key: the key pair of that id, if it is one; see `new`.
    curve: what services encrypt for this server with, if it may ask one.
    name: never empty.
    start: wall time in ns.
    version: the nats-server version that this server follows.
    runtime: the Python version, as the log and monitoring show it.
    """

    id: str
    name: str
    start: int
    version: str = NATS_VERSION
    runtime: str = f"python{sys.version.split()[0]} ({native.FORM})"
    key: KeyPair | None = None
    curve: KeyPair | None = None

    @classmethod
    def new(
        cls, name: str, start: int, random_bytes: Callable[[int], bytes], *, signs: bool = False
    ) -> ServerIdentity:
        """Return a new identity. If `name` is "", the id is the name, too.

        signs: the server will sign tokens, so its id is a real public key. To make one needs a library.
        """
        key = curve = None
        if signs:
            from ..keys import KeyPair, KeyRole

            key = KeyPair.create(KeyRole.SERVER, random_bytes)
            curve = KeyPair.create(KeyRole.CURVE, random_bytes)
        server_id = _server_id(random_bytes(32)) if key is None else key.public_key
        return cls(server_id, name or server_id, start, key=key, curve=curve)


def cluster_name(options: Options, identity: ServerIdentity) -> str:
    """Return the name of the cluster that this server belongs to; "" for a server on its own.

    A server that only solicits leaf connections needs a stable cluster name. It uses its server name, as
    nats-server does.
    """
    cluster = options.cluster
    if cluster is not None and (cluster.name or cluster.port is not None):
        return cluster.name
    return identity.name if options.leafnodes.remotes else ""


def _server_id(raw: bytes) -> str:
    body = bytes([_SERVER_PREFIX]) + raw
    checksum = binascii.crc_hqx(body, 0)
    return base64.b32encode(body + checksum.to_bytes(2, "little")).decode().rstrip("=")
