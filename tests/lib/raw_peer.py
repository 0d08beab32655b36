"""The peer of a leaf connection or a route as a raw socket, for what no server would send."""

from __future__ import annotations

import json
import socket

from .process import ServerProcess

_LEAF = {"name": "L", "server_id": "L", "user": "a", "pass": "p", "headers": True, "remote_account": "$G"}
LOOP = b"$LDS.0123456789012345678901"


class Peer:
    """A raw socket of a leaf or a route."""

    def __init__(self, server: ServerProcess, port: str, first: bytes) -> None:
        self.sock = socket.create_connection(("127.0.0.1", server.ports[port]), timeout=20)
        self.sock.sendall(first)
        self.received = b""

    def hears(self, data: bytes) -> bytes:
        """Send interest and return what arrived until the server had read it."""
        self.sock.sendall(data + b"PING\r\n")
        return self.read(b"PONG\r\n")

    def read(self, until: bytes) -> bytes:
        """Return everything that arrives, up to these bytes."""
        while until not in self.received:
            more = self.sock.recv(1 << 16)
            assert more, self.received
            self.received += more
        received, found, self.received = self.received.partition(until)
        return received + found

    def close(self) -> None:
        self.sock.close()


def leaf(server: ServerProcess) -> Peer:
    return Peer(server, "leaf", b"CONNECT " + json.dumps(_LEAF).encode() + b"\r\n")


def route(server: ServerProcess) -> Peer:
    name = "N" + "A" * 55
    connect = {"name": name, "cluster": "C", "headers": True, "verbose": False, "pedantic": False}
    info = {
        "server_id": name,
        "server_name": "R",
        "version": "2.15.1",
        "cluster": "C",
        "headers": True,
        "host": "127.0.0.1",
        "port": 1,
        "max_payload": 1 << 20,
    }
    first = b"CONNECT %b\r\nINFO %b\r\n" % (json.dumps(connect).encode(), json.dumps(info).encode())
    return Peer(server, "route", first)
