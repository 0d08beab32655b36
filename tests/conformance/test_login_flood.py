"""Wrong passwords by the hundred do not keep out a client that has the right one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import bcrypt
import pytest
from lib.process import ServerProcess
from lib.wire import Wire

COUNT = 40
HASHED = bcrypt.hashpw(b"right", bcrypt.gensalt(9)).decode()
CONFIG = """
listen: 127.0.0.1:<client>
authorization {
  timeout: %s
  users: [ { user: one, password: "%s" }, { user: two, password: "%s" } ]
}
"""
# All the work takes longer than this. The reference lets the time run out before it looks at a CONNECT.
TIMEOUT = {"pyjs": 0.5, "reference": 30}


@pytest.fixture
def server(implementation: str, launch: Callable[[str], ServerProcess]) -> ServerProcess:
    return launch(CONFIG % (TIMEOUT[implementation], HASHED, HASHED.replace("$2b", "$2a")))


@pytest.fixture
def flood(server: ServerProcess) -> Iterator[list[Wire]]:
    """Connections that have just given a wrong password, all of them more work than the time to log in."""
    with ExitStack() as stack:
        wires = [stack.enter_context(Wire(server.port)) for _ in range(COUNT)]
        for wire in wires:
            wire.send('CONNECT {"verbose":false,"user":"one","pass":"wrong"}\r\nPING\r\n')
        yield wires


def test_a_good_login_in_a_flood_of_wrong_ones(server: ServerProcess, flood: list[Wire]) -> None:
    with server.connect(user="one", **{"pass": "right"}) as wire:
        wire.sync()
    with server.connect(user="two", **{"pass": "right"}) as wire:
        wire.sync()
    assert b"Authorization Violation" in flood[0].ends()[-1]
    assert all(wire.ends() for wire in flood[1:])


def test_all_of_many_good_logins_come_in(server: ServerProcess) -> None:
    with ExitStack() as stack:
        wires = [stack.enter_context(Wire(server.port)) for _ in range(COUNT)]
        for number, wire in enumerate(wires):
            user = ("one", "two")[number % 2]
            wire.send(f'CONNECT {{"verbose":false,"user":"{user}","pass":"right"}}\r\n')
        for wire in wires:
            wire.sync()
