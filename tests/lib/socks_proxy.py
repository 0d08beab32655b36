"""A SOCKS5 proxy on 127.0.0.1, which knows one user or takes anybody."""

from __future__ import annotations

import socket
import struct

from .cuttable_proxy import Cuttable


class SocksServer(Cuttable):
    """Relays to whatever its clients ask for. Use it with `with`.

    user, password: whom it takes; without a user anybody.
    asked: the hosts that were asked for, in order.
    code: the answer to each request; 0 connects.
    """

    def __init__(self, user: str = "", password: str = "", code: int = 0) -> None:
        self._login = (user.encode(), password.encode())
        self.code = code
        self.asked: list[str] = []
        super().__init__(0)

    def reach(self, near: socket.socket) -> socket.socket:
        """Speak SOCKS with a client, and connect to where it wants. Raises OSError if it may not."""
        version, count = _read(near, 2)
        ways = _read(near, count)
        wanted = 2 if self._login[0] else 0
        near.sendall(bytes((version, wanted if wanted in ways else 0xFF)))
        if wanted not in ways:
            raise OSError("no way to log in")
        if wanted:
            user = _read(near, _read(near, 2)[1])
            password = _read(near, _read(near, 1)[0])
            near.sendall(bytes((1, (user, password) != self._login)))
            if (user, password) != self._login:
                raise OSError("wrong password")
        kind = _read(near, 4)[3]
        where = _read(near, {1: 4, 4: 16}.get(kind) or _read(near, 1)[0])
        (port,) = struct.unpack("!H", _read(near, 2))
        host = where.decode() if kind == 3 else socket.inet_ntop(socket.AF_INET, where)
        self.asked.append(host)
        if self.code:
            near.sendall(bytes((5, self.code, 0, 1, 0, 0, 0, 0, 0, 0)))
            raise OSError("refused")
        far = socket.create_connection((host, port))
        near.sendall(b"\x05\x00\x00\x03\x04here\x00\x01")
        return far


def _read(sock: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count:
        more = sock.recv(count - len(found))
        if not more:
            raise OSError("closed")
        found += more
    return found
