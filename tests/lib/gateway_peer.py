"""The other end of gateways as raw sockets, for what no server would send, and to see what a server sends.

`dial` connects to a server as another cluster does that sends it messages. A `Listener` is what a server
dials to send messages.
"""

from __future__ import annotations

import base64
import hashlib
import json
import select
import socket
from typing import Any

from .process import ServerProcess

SECONDS = 20.0
_ALPHABET = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def hash_of(name: str) -> str:
    """Return the six characters that stand for a cluster or server in the way back of a reply."""
    return bytes(_ALPHABET[byte % 62] for byte in hashlib.sha256(name.encode()).digest()[:6]).decode()


def info(cluster: str, **more: Any) -> bytes:
    """Return the INFO of a server of a cluster."""
    server_id = "N" + (cluster + "A" * 55)[:55]
    fields = {
        "server_id": server_id,
        "server_name": f"server-{cluster}",
        "version": "2.15.1",
        "proto": 3,
        "headers": True,
        "host": "127.0.0.1",
        "port": 1,
        "max_payload": 1 << 20,
        "gateway": cluster,
        "gateway_nrp": True,
        "gateway_iom": True,
    }
    return b"INFO " + json.dumps(fields | more).encode() + b" \r\n"


def connect(cluster: str, user: str = "gate", password: str = "secret") -> bytes:
    """Return the CONNECT of a server of a cluster."""
    fields = {"user": user, "pass": password, "name": "N" + cluster, "gateway": cluster}
    return b"CONNECT " + json.dumps(fields).encode() + b"\r\n"


def command(number: int, account: str, cluster: str) -> bytes:
    """Return the INFO by which all interest in an account is announced (2), or was told (3)."""
    payload = base64.b64encode(account.encode()).decode()
    fields = {"gateway": cluster, "gateway_cmd": number, "gateway_cmd_payload": payload}
    return b"INFO " + json.dumps(fields).encode() + b" \r\n"


class GatewayPeer:
    """One connection, read line by line."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        sock.settimeout(SECONDS)
        self._data = b""

    def send(self, data: bytes) -> None:
        self.sock.sendall(data)

    def line(self) -> bytes:
        """Return the next line. Raises EOFError at the end."""
        while b"\r\n" not in self._data:
            try:
                more = self.sock.recv(1 << 16)
            except ConnectionResetError:
                more = b""
            if not more:
                raise EOFError
            self._data += more
        line, _, self._data = self._data.partition(b"\r\n")
        return line

    def info(self) -> dict[str, Any]:
        """Return the fields of the next line, which must be an INFO."""
        line = self.line()
        assert line.startswith(b"INFO "), line
        found: dict[str, Any] = json.loads(line[5:])
        return found

    def until(self, last: bytes) -> list[bytes]:
        """Return the lines up to one that begins with `last`, and that one."""
        found = [self.line()]
        while not found[-1].startswith(last):
            found.append(self.line())
        return found

    def sync(self) -> list[bytes]:
        """Make a PING round trip, so that everything sent is handled; return the lines before the PONG."""
        self.send(b"PING\r\n")
        return self.until(b"PONG")[:-1]

    def ends(self) -> list[bytes]:
        """Return the lines until the server closes."""
        found: list[bytes] = []
        try:
            while True:
                found.append(self.line())
        except EOFError:
            return found

    def close(self) -> None:
        self.sock.close()

    def __enter__(self) -> GatewayPeer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def raw(server: ServerProcess) -> GatewayPeer:
    """Connect to the port for gateways of a server, and do no more."""
    return GatewayPeer(socket.create_connection(("127.0.0.1", server.ports["gateway"]), SECONDS))


def dial(server: ServerProcess, cluster: str, **more: Any) -> GatewayPeer:
    """Connect to a server as a server of a cluster does; everything it tells of interest is read."""
    peer = raw(server)
    peer.info()
    peer.send(connect(cluster) + info(cluster, **more))
    return peer


class Listener:
    """A port where a server dials the cluster `name`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._socket.settimeout(SECONDS)
        self.port: int = self._socket.getsockname()[1]
        self.given: dict[str, Any] = {}
        self.info: dict[str, Any] = {}

    def accept(self, **more: Any) -> GatewayPeer:
        """Return the server's next connection, after both have introduced themselves.

        given, info: what its CONNECT and INFO said.
        """
        peer = self._next()
        peer.send(info(self.name, **more))
        line = peer.line()
        assert line.startswith(b"CONNECT "), line
        self.given = json.loads(line[8:])
        self.info = peer.info()
        return peer

    def waits(self) -> bool:
        """Return whether a server has dialled."""
        return bool(select.select([self._socket], [], [], 0.05)[0])

    def refuse(self, first: bytes) -> list[bytes]:
        """Accept the server's next connection, greet it so, and return what it says until it closes."""
        with self._next() as peer:
            peer.send(first)
            return peer.ends()

    def _next(self) -> GatewayPeer:
        """Return the next connection that the server has not given up: it waits for our INFO."""
        while True:
            sock = self._socket.accept()[0]
            if not select.select([sock], [], [], 0)[0]:
                return GatewayPeer(sock)
            sock.close()

    def close(self) -> None:
        self._socket.close()
