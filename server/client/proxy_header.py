"""ProxyHeader: the header with which a proxy says whose connection it passes on (PROXY protocol 1 and 2).

Without I/O. Promises that what does not begin like a header is passed on as it is, and that no more than a
line, or the addresses of version 2, is kept. Source: haproxy's proxy-protocol.txt; which headers are taken,
nats-server's server/client_proxyproto.go.
"""

from __future__ import annotations

import ipaddress
import struct
from typing import NamedTuple

_FIRST = b"PROXY "
_SECOND = b"\r\n\r\n\x00\r\nQUIT\n"
_LINE = 107  # bytes of version 1, the line's end included
_FIXED = 16  # bytes of version 2 before the addresses
_LOCAL, _PROXY = 0, 1
_STREAM = 1
_UNSPECIFIED = 0
_ADDRESSES = {1: 4, 2: 16}  # bytes of an address, by family


class ProxyHeaderError(ValueError):
    """The header is broken, or says what is not served."""


class Proxied(NamedTuple):
    """What a header said.

    peer: (host, port) of the client; None if the header names none, or if there was none.
    rest: the bytes after the header.
    """

    peer: tuple[str, int] | None
    rest: bytes


class ProxyHeader:
    """Reads the beginning of one connection."""

    def __init__(self) -> None:
        self._data = b""
        self._peer: tuple[str, int] | None = None
        self._skip = -1  # bytes of the header that are still to come and say nothing; -1 before that

    @property
    def begun(self) -> bool:
        """Whether a part of a header has come."""
        return bool(self._data) or self._skip > 0

    def feed(self, data: bytes) -> Proxied | None:
        """Take what came. Return the result once it is known. Raises ProxyHeaderError."""
        if self._skip < 0:
            self._data += data
            found = self._read()
            if found is not None or self._skip < 0:
                return found
            data, self._data = self._data, b""
        rest = data[self._skip :]
        self._skip = max(0, self._skip - len(data))
        return None if self._skip else Proxied(self._peer, rest)

    def _read(self) -> Proxied | None:
        data = self._data
        if _FIRST.startswith(data[: len(_FIRST)]):
            return self._read_line()
        if _SECOND[: len(_FIRST)].startswith(data[: len(_FIRST)]):
            return self._read_binary()
        return Proxied(None, data)

    def _read_line(self) -> Proxied | None:
        line, end, rest = self._data[:_LINE].partition(b"\r\n")
        if end:
            return Proxied(_of_line(line), rest + self._data[_LINE:])
        if len(self._data) >= _LINE:
            raise ProxyHeaderError("the line is too long")
        return None

    def _read_binary(self) -> Proxied | None:
        data = self._data
        if not _SECOND.startswith(data[: len(_SECOND)]):
            raise ProxyHeaderError("the signature is wrong")
        if len(data) < _FIXED:
            return None
        version, family, size = struct.unpack_from("!BBH", data, len(_SECOND))
        known = _size_of_addresses(version, family, size)
        if len(data) < _FIXED + known:
            return None
        if known:
            self._peer = _of_bytes(data[_FIXED : _FIXED + known], known)
        self._skip = size - known
        self._data = data[_FIXED + known :]
        return None


def _of_line(line: bytes) -> tuple[str, int] | None:
    fields = line.decode("latin-1").split()[1:]
    if fields[:1] == ["UNKNOWN"]:
        return None
    if len(fields) != 5 or fields[0] not in ("TCP4", "TCP6"):
        raise ProxyHeaderError("it does not name two addresses of TCP")
    versions = {":" in text for text in fields[1:3]}
    if versions != {fields[0] == "TCP6"}:
        raise ProxyHeaderError("the addresses are not of that kind")
    for text in fields[3:]:
        if not (text.isascii() and text.isdigit() and int(text) < 1 << 16):
            raise ProxyHeaderError("a port is wrong")
    return _addresses(fields[1], fields[2])[0], int(fields[3])


def _addresses(*texts: str) -> list[str]:
    try:
        if any("%" in text for text in texts):
            raise ValueError
        return [_shown(ipaddress.ip_address(text)) for text in texts]
    except ValueError:
        raise ProxyHeaderError("an address is wrong") from None


def _size_of_addresses(version: int, family: int, size: int) -> int:
    """Return how many bytes of addresses a header of version 2 has that count."""
    if version >> 4 != 2:
        raise ProxyHeaderError("the version is wrong")
    if version & 15 == _LOCAL:
        return 0
    if version & 15 != _PROXY:
        raise ProxyHeaderError("the command is not known")
    if family & 15 != _STREAM:
        raise ProxyHeaderError("it is no connection of TCP")
    if family >> 4 == _UNSPECIFIED:
        return 0
    width = _ADDRESSES.get(family >> 4)
    if width is None:
        raise ProxyHeaderError("the kind of its addresses is not served")
    if size < 2 * width + 4:
        raise ProxyHeaderError("the addresses are too short")
    return 2 * width + 4


def _of_bytes(raw: bytes, size: int) -> tuple[str, int]:
    width = (size - 4) // 2
    port = int.from_bytes(raw[2 * width : 2 * width + 2])
    return _shown(ipaddress.ip_address(raw[:width])), port


def _shown(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> str:
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(mapped or address)
