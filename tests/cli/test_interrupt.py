"""Ctrl-C ends a long command, which says so and leaves the terminal and the exit code in order."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest
from lib.cli import Cli

INFO = b'INFO {"server_id":"S","version":"2.14.0","proto":1,"headers":true,"max_payload":1048576}\r\n'


class Mute:
    """A server that answers PING and nothing else; `asked` is set when a request has come."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.asked = threading.Event()
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.listener.getsockname()[1]}"

    def serve(self) -> None:
        try:
            connection, _ = self.listener.accept()
        except OSError:
            return
        with connection:
            connection.sendall(INFO)
            while data := connection.recv(65536):
                if b"PING\r\n" in data:
                    connection.sendall(b"PONG\r\n")
                if b"$JS.API" in data:
                    self.asked.set()

    def close(self) -> None:
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join()


@pytest.fixture
def mute() -> Iterator[Mute]:
    server = Mute()
    yield server
    server.close()


def test_ctrl_c_while_waiting_for_an_answer(cli: Cli, mute: Mute) -> None:
    with cli.terminal(["stream", "ls", "-s", mute.url, "--timeout", "1h"]) as terminal:
        assert mute.asked.wait(20)
        terminal.type("\x03")
        assert terminal.finish() == 130
        assert terminal.errors().strip() == "pyjs: error: interrupt"


def test_no_answer_within_the_timeout_is_an_error_that_says_so(cli: Cli, mute: Mute) -> None:
    result = cli.run("stream", "ls", "-s", mute.url, "--timeout", "100ms")
    assert result.code == 6
    assert "nats: timeout" in result.err
    assert "--timeout waits longer" in result.err
