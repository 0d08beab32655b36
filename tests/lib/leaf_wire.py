"""LeafWire: one end of a leaf connection, played by a test line by line."""

from __future__ import annotations

import socket


class LeafWire:
    """A leaf connection by hand: lines and LMSG frames."""

    def __init__(self, sock: socket.socket) -> None:
        sock.settimeout(20)
        self.sock = sock
        self.buffer = b""

    def send(self, data: str) -> None:
        self.sock.sendall(data.encode())

    def line(self) -> str:
        """The next line, answering pings; raises EOFError at the end."""
        while True:
            while b"\r\n" not in self.buffer:
                try:
                    data = self.sock.recv(65536)
                except ConnectionError:
                    data = b""
                if not data:
                    raise EOFError
                self.buffer += data
            line, _, self.buffer = self.buffer.partition(b"\r\n")
            if line == b"PING":
                self.send("PONG\r\n")
                continue
            return line.decode()

    def until(self, start: str) -> str:
        """The next line that begins so."""
        while not (line := self.line()).startswith(start):
            pass
        return line

    def ends(self) -> list[str]:
        """All lines until the end."""
        seen = []
        try:
            while True:
                seen.append(self.line())
        except EOFError:
            return seen

    def lines_until_pong(self) -> list[str]:
        """What came before the answer to a PING of ours."""
        self.send("PING\r\n")
        seen = []
        while (line := self.line()) != "PONG":
            seen.append(line)
        return seen

    def close(self) -> None:
        self.sock.close()
