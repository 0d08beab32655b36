"""Connecting through a SOCKS5 proxy: RFC 1928, with user and password as in RFC 1929.

The proxy resolves the host's name. Promises: no more is read than the proxy has to send, so that nothing of
the server's first line is lost; an error names the proxy without its password.
"""

from __future__ import annotations

import socket
import struct
from ipaddress import IPv6Address, ip_address
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from .errors import ClientError

PORT = 1080
SCHEMES = ("socks5", "socks5h")
VERSION, CONNECT = 5, 1
OPEN, BY_PASSWORD = 0, 2  # ways to log in
IPV4, NAME, IPV6 = 1, 3, 4
REFUSALS = {
    1: "general failure",
    2: "the connection is not allowed",
    3: "network unreachable",
    4: "host unreachable",
    5: "connection refused",
    6: "the time to live expired",
    7: "command not supported",
    8: "address type not supported",
}


class SocksProxy(NamedTuple):
    """Where a proxy is, and who one is there; without a user nobody."""

    host: str
    port: int
    user: str = ""
    password: str = ""

    @classmethod
    def of(cls, url: str) -> SocksProxy:
        """Read `socks5://[USER:PASSWORD@]HOST[:PORT]`. Raises ValueError, without the password."""
        parts = urlsplit(url)
        if parts.scheme not in SCHEMES or not parts.hostname:
            raise ValueError("a SOCKS proxy is given as socks5://[user:password@]host[:port]")
        user, password = unquote(parts.username or ""), unquote(parts.password or "")
        if max(len(user.encode()), len(password.encode())) > 255:
            raise ValueError("user and password of a SOCKS proxy have at most 255 bytes")
        return cls(parts.hostname, parts.port or PORT, user, password)

    def open(self, host: str, port: int, timeout: float) -> socket.socket:
        """Return a connection to `host`, made by the proxy. Raises ClientError and OSError.

        timeout: seconds for each step.
        """
        sock = socket.create_connection((self.host, self.port), timeout=timeout)
        try:
            self._log_in(sock)
            sock.sendall(struct.pack("!BBB", VERSION, CONNECT, 0) + _target(host, port))
            version, code, _, kind = _read(sock, 4)
            if version != VERSION or code:
                raise ClientError(f"{self}: {REFUSALS.get(code, f'answer {code}')}")
            length = {IPV4: 4, IPV6: 16}.get(kind)
            _read(sock, (_read(sock, 1)[0] if length is None else length) + 2)  # where it connected from
        except BaseException:
            sock.close()
            raise
        return sock

    def _log_in(self, sock: socket.socket) -> None:
        ways = bytes((OPEN, BY_PASSWORD) if self.user else (OPEN,))
        sock.sendall(bytes((VERSION, len(ways))) + ways)
        version, way = _read(sock, 2)
        if version != VERSION:
            raise ClientError(f"{self}: this is no SOCKS5 proxy")
        if way == BY_PASSWORD and self.user:
            user, password = self.user.encode(), self.password.encode()
            sock.sendall(bytes((1, len(user))) + user + bytes((len(password),)) + password)
            if _read(sock, 2)[1]:
                raise ClientError(f"{self}: refused user and password")
        elif way != OPEN:
            raise ClientError(f"{self}: " + ("refused" if self.user else "wants a user and password"))

    def __str__(self) -> str:
        return f"SOCKS proxy {self.host}:{self.port}"


def _target(host: str, port: int) -> bytes:
    """Return address and port as the protocol has them. Raises ClientError for a name that is too long."""
    try:
        address = ip_address(host)
    except ValueError:
        name = host.encode("ascii") if host.isascii() else host.encode("idna")
        if len(name) > 255:
            raise ClientError("the name of the host has more than 255 bytes") from None
        where = bytes((NAME, len(name))) + name
    else:
        where = bytes((IPV6 if isinstance(address, IPv6Address) else IPV4,)) + address.packed
    return where + struct.pack("!H", port)


def _read(sock: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count:
        more = sock.recv(count - len(found))
        if not more:
            raise ClientError("the SOCKS proxy closed the connection")
        found += more
    return found
