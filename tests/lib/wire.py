"""A raw client on a blocking socket: it sends exactly what a test says, and returns exactly what arrives.

Frames are read as `Msg` (MSG and HMSG) or as the bare line in bytes (`b"PONG"`, `b"+OK"`, `b"-ERR 'x'"`).
Later INFO lines go to `infos` and are not returned. Every read has a deadline (TimeoutError).
"""

from __future__ import annotations

import json
import random
import socket
from collections import deque
from typing import Any, NamedTuple

SECONDS = 20.0


class Msg(NamedTuple):
    """One delivered message; `header` is the whole block or b""."""

    subject: str
    sid: str
    reply: str
    header: bytes
    body: bytes

    def json(self) -> Any:
        """Return the body as JSON."""
        return json.loads(self.body)

    @property
    def status(self) -> str:
        """The text after NATS/1.0 on the first header line: "" or "404 No Messages"."""
        return self.header.split(b"\r\n", 1)[0].removeprefix(b"NATS/1.0").strip().decode()

    @property
    def headers(self) -> dict[str, str]:
        """The header lines; the last of equal names wins."""
        lines = self.header.decode().split("\r\n")[1:]
        return {k: v.strip() for k, _, v in (line.partition(":") for line in lines) if k}


Frame = Msg | bytes


def header_block(headers: dict[str, str]) -> bytes:
    """Return the header block of `headers`."""
    return b"NATS/1.0\r\n" + b"".join(f"{k}: {v}\r\n".encode() for k, v in headers.items()) + b"\r\n"


class Wire:
    """One connection. `Wire(port)` has read INFO only; `Wire.connected(port, **connect)` has logged in."""

    def __init__(self, port: int, seconds: float = SECONDS) -> None:
        self.sock = socket.create_connection(("127.0.0.1", port), timeout=seconds)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._data = b""
        self._next = 0  # where the part of the buffer begins that was not returned
        self.unread: deque[Frame] = deque()
        self.infos: list[dict[str, Any]] = []
        self.prefix = ""
        self.asked = 0
        self.eof = False
        try:
            line = self._line()
        except BaseException:
            self.close()
            raise
        assert line.startswith(b"INFO "), line
        self.infos.append(json.loads(line[5:]))

    @classmethod
    def connected(cls, port: int, **options: Any) -> Wire:
        """Log in with quiet defaults. Raises ConnectionError if the server answers -ERR."""
        wire = cls(port)
        try:
            wire.login(**options)
            answer = wire.sync()
        except BaseException:
            wire.close()
            raise
        if answer:
            wire.close()
            raise ConnectionError(answer)
        return wire

    @property
    def buffer(self) -> bytes:
        """What has arrived and was not returned yet."""
        return self._data[self._next :]

    @property
    def info(self) -> dict[str, Any]:
        """The first INFO."""
        return self.infos[0]

    def login(self, **options: Any) -> None:
        """Send CONNECT."""
        connect = {"verbose": False, "pedantic": False, "headers": True, "no_responders": True, "protocol": 1}
        self.send("CONNECT " + json.dumps(connect | options) + "\r\n")

    def send(self, data: bytes | str) -> None:
        """Send `data` as it is."""
        self.sock.sendall(data.encode() if isinstance(data, str) else data)

    def pub(
        self, subject: str, body: bytes | str = b"", reply: str = "", headers: dict[str, str] | None = None
    ) -> None:
        """Send PUB, or HPUB if there are headers."""
        data = body.encode() if isinstance(body, str) else body
        where = f"{subject} {reply} " if reply else f"{subject} "
        if headers:
            block = header_block(headers)
            head = f"HPUB {where}{len(block)} {len(block) + len(data)}\r\n".encode() + block
        else:
            head = f"PUB {where}{len(data)}\r\n".encode()
        self.send(head + data + b"\r\n")

    def sub(self, subject: str, sid: str = "1", queue: str = "") -> None:
        """Send SUB."""
        self.send(f"SUB {subject} {queue} {sid}\r\n" if queue else f"SUB {subject} {sid}\r\n")

    def sync(self) -> list[Frame]:
        """Make a PING round trip, so that everything sent is handled; return what came before the PONG."""
        self.send(b"PING\r\n")
        seen = list(self.unread)
        self.unread.clear()
        while (frame := self._frame()) != b"PONG":
            seen.append(frame)
            if isinstance(frame, bytes) and frame.startswith(b"-ERR") and self._at_end():
                break
        return seen

    def next(self) -> Frame:
        """Return the next frame."""
        return self.unread.popleft() if self.unread else self._frame()

    def msg(self) -> Msg:
        """Return the next frame, which must be a message."""
        frame = self.next()
        assert isinstance(frame, Msg), frame
        return frame

    def msgs(self, count: int) -> list[Msg]:
        """Return the next `count` frames, which must be messages."""
        return [self.msg() for _ in range(count)]

    def ends(self) -> list[Frame]:
        """Read until the server closes; return what arrived. Raises TimeoutError if it does not close."""
        seen = list(self.unread)
        self.unread.clear()
        try:
            while True:
                seen.append(self._frame())
        except EOFError:
            return seen

    def inbox(self) -> str:
        """Return a new literal reply subject that this connection is subscribed to."""
        if not self.prefix:
            self.prefix = f"_INBOX.{random.randrange(1 << 48):012x}"
            self.sub(f"{self.prefix}.*", sid="inbox")
        self.asked += 1
        return f"{self.prefix}.{self.asked}"

    def request(
        self, subject: str, body: bytes | str | dict[str, Any] = b"", headers: dict[str, str] | None = None
    ) -> Msg:
        """Publish with an inbox and return its first answer; other frames are kept for `next`."""
        data = json.dumps(body) if isinstance(body, dict) else body
        reply = self.inbox()
        self.pub(subject, data, reply, headers)
        return self.answer(reply)

    def answer(self, reply: str) -> Msg:
        """Return the next message to `reply`; other frames are kept for `next`."""
        kept: deque[Frame] = deque()
        try:
            while True:
                frame = self.next()
                if isinstance(frame, Msg) and frame.sid == "inbox" and frame.subject == reply:
                    return frame
                assert not (isinstance(frame, bytes) and frame.startswith(b"-ERR")), frame
                kept.append(frame)
        finally:
            self.unread.extendleft(reversed(kept))

    def close(self) -> None:
        """Close the socket."""
        self.sock.close()

    def __enter__(self) -> Wire:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _fill(self) -> None:
        try:
            data = self.sock.recv(1 << 18)
        except ConnectionError:
            data = b""
        if not data:
            self.eof = True
            raise EOFError(f"closed by the server; unread: {self._data[self._next :][-200:]!r}")
        self._data = self._data[self._next :] + data
        self._next = 0

    def _at_end(self) -> bool:
        """Return whether the server closed right after an -ERR (a closing -ERR is followed by no PONG)."""
        try:
            while self._data.find(b"\r\n", self._next) < 0:
                self._fill()
        except EOFError:
            return True
        return False

    def _line(self) -> bytes:
        while (end := self._data.find(b"\r\n", self._next)) < 0:
            self._fill()
        line = self._data[self._next : end]
        self._next = end + 2
        return line

    def _take(self, size: int) -> bytes:
        while len(self._data) - self._next < size + 2:
            self._fill()
        end = self._next + size
        data = self._data[self._next : end]
        assert self._data[end : end + 2] == b"\r\n", data
        self._next = end + 2
        return data

    def _frame(self) -> Frame:
        while True:
            line = self._line()
            verb, _, rest = line.partition(b" ")
            if verb == b"INFO":
                self.infos.append(json.loads(rest))
            elif verb == b"PING" and not rest:
                self.send(b"PONG\r\n")
            elif verb in {b"MSG", b"HMSG"}:
                return self._message(verb, rest.decode("utf-8", "surrogateescape").split())
            else:
                return line

    def _message(self, verb: bytes, fields: list[str]) -> Msg:
        if verb == b"MSG":
            head, size = 0, int(fields.pop())
        else:
            size, head = int(fields.pop()), int(fields.pop())
        data = self._take(size)
        subject, sid, *reply = fields
        return Msg(subject, sid, reply[0] if reply else "", data[:head], data[head:])
