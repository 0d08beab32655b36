"""The error of a server that refuses the user is shown, however the server hangs up."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator

import pytest
from lib.cli import Cli

INFO = (
    b'INFO {"server_id":"S","version":"2.14.0","proto":1,"headers":true,'
    b'"max_payload":1048576,"auth_required":true}\r\n'
)
REFUSAL = b"-ERR 'Authorization Violation'\r\n"
RESET = struct.pack("ii", 1, 0)  # SO_LINGER: close with RST, and drop what the other end has not read


class Abrupt:
    """A server that refuses the first connection, and resets every other one without a word."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.reads: list[bytes] = []
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.listener.getsockname()[1]}"

    def serve(self) -> None:
        for answer in (REFUSAL, b"", b""):
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            connection.sendall(INFO)
            self.reads.append(connection.recv(65536))
            if answer:
                connection.sendall(answer)
            else:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            connection.close()

    def close(self) -> None:
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join()


@pytest.fixture
def abrupt() -> Iterator[Abrupt]:
    server = Abrupt()
    yield server
    server.close()


def test_the_refusal_is_reported_although_the_next_try_was_reset(cli: Cli, abrupt: Abrupt) -> None:
    result = cli.run("stream", "ls", "-s", abrupt.url, "--user", "ada", "--password", "guess")
    assert result.code == 4
    assert "setup failed: nats: Authorization Violation" in result.err
    assert 'refused the user "ada"' in result.err


def test_connect_and_its_ping_are_one_write(cli: Cli, abrupt: Abrupt) -> None:
    cli.run("stream", "ls", "-s", abrupt.url)
    assert abrupt.reads[0].startswith(b"CONNECT {")
    assert abrupt.reads[0].endswith(b"}\r\nPING\r\n")
