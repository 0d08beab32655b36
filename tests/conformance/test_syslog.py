"""The log in another syslog (`remote_syslog`): what its lines look like, and that a file comes first."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable

import pytest
from lib.process import ServerProcess

LINE = re.compile(
    rb"<(\d)>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:Z|[+-]\d\d:\d\d) \S+ \S+\[\d+\]: (.*)\n?", re.DOTALL
)
Launch = Callable[[str], ServerProcess]
CONFIG = 'listen: 127.0.0.1:<client>\nremote_syslog: "%s"\n%s'


def until_listening(lines: Callable[[], bytes]) -> list[tuple[int, bytes]]:
    """Return severity and text of the lines up to the one about clients."""
    found: list[tuple[int, bytes]] = []
    while not found or b"Listening for client connections" not in found[-1][1]:
        line = lines()
        match = LINE.fullmatch(line)
        assert match is not None, line
        found.append((int(match[1]), match[2].rstrip(b"\n")))
    return found


@pytest.fixture
def receiver() -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.bind(("127.0.0.1", 0))
    made.settimeout(20)
    return made


def test_lines_by_udp(launch: Launch, receiver: socket.socket) -> None:
    with receiver:
        port = receiver.getsockname()[1]
        launch(CONFIG % (f"udp://127.0.0.1:{port}", "authorization { user: a, password: plain }"))
        lines = until_listening(lambda: receiver.recv(1 << 16))
        assert {severity for severity, _ in lines} <= {4, 5}
        assert lines[-1][0] == 5


def test_lines_by_tcp(launch: Launch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(20)
        port = listening.getsockname()[1]
        launch(CONFIG % (f"tcp://127.0.0.1:{port}", ""))
        connection, _ = listening.accept()
        with connection, connection.makefile("rb") as stream:
            connection.settimeout(20)
            assert until_listening(stream.readline)


def test_errors_and_debugging(launch: Launch, receiver: socket.socket) -> None:
    with receiver:
        port = receiver.getsockname()[1]
        more = "debug: true\nauthorization { user: a, password: plain }"
        server = launch(CONFIG % (f"udp://127.0.0.1:{port}", more))
        with server.raw() as wire:
            wire.login(user="b")
            wire.ends()
        seen: dict[int, bytes] = {}
        while not {3, 7} <= set(seen):
            match = LINE.fullmatch(receiver.recv(1 << 16))
            assert match is not None
            seen[int(match[1])] = match[2]
        assert b"authentication error" in seen[3]


def test_a_file_comes_before_syslog(launch: Launch, receiver: socket.socket) -> None:
    with receiver:
        port = receiver.getsockname()[1]
        launch(CONFIG % (f"udp://127.0.0.1:{port}", 'log_file: "<store>.log"'))
        receiver.settimeout(0.2)
        with pytest.raises(TimeoutError):
            receiver.recv(1 << 16)
