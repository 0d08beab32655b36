"""An HTTP proxy on 127.0.0.1 that opens tunnels (CONNECT), for one user or for anybody."""

from __future__ import annotations

import base64
import socket

from .cuttable_proxy import Cuttable


class HttpProxy(Cuttable):
    """Relays to whatever its clients ask for. Use it with `with`.

    asked: what was asked for, `host:port`, in order.
    """

    def __init__(self, user: str = "", password: str = "") -> None:
        self._token = base64.b64encode(f"{user}:{password}".encode()).decode() if user else ""
        self.asked: list[str] = []
        super().__init__(0)

    def reach(self, near: socket.socket) -> socket.socket:
        """Speak HTTP with a client, and connect to where it wants. Raises OSError if it may not."""
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            more = near.recv(1)
            if not more:
                raise OSError("closed")
            head += more
        first, *lines = head.decode().split("\r\n")
        method, where, _ = first.split()
        assert method == "CONNECT"
        self.asked.append(where)
        if self._token and f"Proxy-Authorization: Basic {self._token}".lower() not in map(str.lower, lines):
            near.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
            raise OSError("no login")
        host, _, port = where.rpartition(":")
        far = socket.create_connection((host, int(port)))
        near.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        return far
