"""A raw WebSocket client: it sends exactly the bytes of HTTP and the frames that a test says.

Written without the library that the server uses, so that both cannot be wrong together.
"""

from __future__ import annotations

import base64
import json
import os
import socket
import ssl
import struct
import zlib
from typing import Any, NamedTuple

SECONDS = 20.0
CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0x0, 0x1, 0x2, 0x8, 0x9, 0xA
OFFER = "permessage-deflate; server_no_context_takeover; client_no_context_takeover"
_TAIL = b"\x00\x00\xff\xff"


class Answer(NamedTuple):
    """An HTTP response: its status, and its headers by name in lower case."""

    status: int
    headers: dict[str, str]


class Frame(NamedTuple):
    """A frame of the server; the payload is inflated."""

    opcode: int
    payload: bytes
    compressed: bool

    @property
    def status(self) -> int:
        """The status of a close frame; 0 if it has none."""
        return int(struct.unpack_from("!H", self.payload)[0]) if self.payload else 0


def frame(
    opcode: int,
    payload: bytes = b"",
    *,
    final: bool = True,
    masked: bool = True,
    reserved: int = 0,
    length: int | None = None,
) -> bytes:
    """Return one frame. `length` is what its header says, if that differs from the truth."""
    size = len(payload) if length is None else length
    first, bit = opcode | (0x80 if final else 0) | reserved, 0x80 if masked else 0
    if size < 126:
        head = struct.pack("!BB", first, bit | size)
    elif size < 1 << 16:
        head = struct.pack("!BBH", first, bit | 126, size)
    else:
        head = struct.pack("!BBQ", first, bit | 127, size)
    if not masked:
        return head + payload
    key = os.urandom(4)
    mask = (key * (len(payload) // 4 + 1))[: len(payload)]
    mixed = int.from_bytes(payload, "big") ^ int.from_bytes(mask, "big")
    return head + key + mixed.to_bytes(len(payload), "big")


def compressed(payload: bytes, **options: Any) -> bytes:
    """Return one compressed frame."""
    deflater = zlib.compressobj(9, zlib.DEFLATED, -15)
    raw = deflater.compress(payload) + deflater.flush(zlib.Z_SYNC_FLUSH)
    return frame(BINARY, raw[: -len(_TAIL)], reserved=0x40, **options)


def request(path: str = "/", method: str | None = "GET", **changes: str | None) -> bytes:
    """Return a request for an upgrade; a header that is None is left out. `_` stands for `-` in names."""
    headers: dict[str, str | None] = {
        "Host": "127.0.0.1",
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Key": base64.b64encode(bytes(16)).decode(),
        "Sec-WebSocket-Version": "13",
    }
    for name, value in changes.items():
        known = {key.lower(): key for key in headers}
        plain = name.replace("_", "-")
        headers[known.get(plain.lower(), plain)] = value
    lines = [f"{name}: {value}" for name, value in headers.items() if value is not None]
    return "\r\n".join([f"{method} {path} HTTP/1.1", *lines, "", ""]).encode()


class WebSocket:
    """One socket to a WebSocket port; `upgrade` is the first thing to call."""

    def __init__(self, port: int, tls: ssl.SSLContext | None = None) -> None:
        sock = socket.create_connection(("127.0.0.1", port), timeout=SECONDS)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sock = sock if tls is None else tls.wrap_socket(sock, server_hostname="127.0.0.1")
        self._data = b""
        self.text = b""  # what came of NATS and was not returned yet
        self.infos: list[dict[str, Any]] = []

    def upgrade(self, path: str = "/", **changes: str | None) -> Answer:
        """Ask for an upgrade, and return the answer."""
        self.send(request(path, **changes))
        return self.answer()

    def answer(self) -> Answer:
        """Return the response to a request."""
        while b"\r\n\r\n" not in self._data:
            self._more()
        head, _, self._data = self._data.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        pairs = (line.partition(":") for line in lines)
        return Answer(int(first.split()[1]), {name.lower(): value.strip() for name, _, value in pairs})

    def send(self, data: bytes) -> None:
        """Send `data` as it is."""
        self.sock.sendall(data)

    def nats(self, text: str | bytes) -> None:
        """Send operations of NATS in a frame."""
        self.send(frame(BINARY, text.encode() if isinstance(text, str) else text))

    def frame(self) -> Frame:
        """Return the next frame. Raises EOFError at the end."""
        first, second = self._take(2)
        size = second & 0x7F
        assert not second & 0x80, "servers do not mask"
        if size == 126:
            (size,) = struct.unpack("!H", self._take(2))
        elif size == 127:
            (size,) = struct.unpack("!Q", self._take(8))
        payload = self._take(size)
        deflated = bool(first & 0x40)
        if deflated:
            payload = zlib.decompressobj(-15).decompress(payload + _TAIL)
        return Frame(first & 0x0F, payload, deflated)

    def line(self) -> bytes:
        """Return the next line of NATS, without its end. Later INFO lines go to `infos`."""
        while (line := self._line()).startswith(b"INFO "):
            self.infos.append(json.loads(line[5:]))
        return line

    def _line(self) -> bytes:
        while b"\r\n" not in self.text:
            found = self.frame()
            if found.opcode == CLOSE:
                raise EOFError(found.status)
            if found.opcode in (BINARY, CONTINUATION):
                self.text += found.payload
        line, _, self.text = self.text.partition(b"\r\n")
        return line

    def info(self) -> dict[str, Any]:
        """Return the next line, which must be an INFO."""
        line = self._line()
        assert line.startswith(b"INFO "), line
        found: dict[str, Any] = json.loads(line[5:])
        return found

    def login(self, **options: Any) -> list[bytes]:
        """Send CONNECT and PING; return the lines until the answer."""
        connect = {"verbose": False, "pedantic": False, "headers": True, "no_responders": True, "protocol": 1}
        self.nats("CONNECT " + json.dumps(connect | options) + "\r\nPING\r\n")
        lines: list[bytes] = []
        while not lines or (lines[-1] != b"PONG" and not lines[-1].startswith(b"-ERR")):
            lines.append(self.line())
        return lines

    def ends(self) -> int:
        """Read until the close frame, and return its status; 0 if the socket is closed without one."""
        try:
            while (found := self.frame()).opcode != CLOSE:
                pass
        except (EOFError, ConnectionError):
            return 0
        return found.status or -1

    def closed(self) -> bool:
        """Return whether the server closes the socket; raises TimeoutError if not."""
        try:
            while True:
                self._more()
        except (EOFError, ConnectionError):
            return True

    def close(self) -> None:
        """Close the socket."""
        self.sock.close()

    def _take(self, size: int) -> bytes:
        while len(self._data) < size:
            self._more()
        taken, self._data = self._data[:size], self._data[size:]
        return taken

    def _more(self) -> None:
        data = self.sock.recv(1 << 16)
        if not data:
            raise EOFError
        self._data += data
