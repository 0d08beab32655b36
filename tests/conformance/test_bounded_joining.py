"""Who joins an account with very many interests is told of all of them, and keeps nobody waiting.

A leaf and a route come to a server whose clients have 40,000 interests. Processor time is counted
(lib/callbacks.py).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

import pytest
from lib.callbacks import Callbacks
from lib.process import ServerProcess
from lib.raw_peer import Peer, leaf, route

COUNT = 20_000
CONFIG = """
listen: 127.0.0.1:<client>
server_name: S
leafnodes { listen: 127.0.0.1:<leaf> }
cluster { name: C, listen: 127.0.0.1:<route> }
accounts {
  A { users: [{ user: a, password: p }] }
  SYS { users: [{ user: sys, password: p }] }
}
system_account: SYS
no_auth_user: a
"""
JOIN: dict[str, tuple[Callable[[ServerProcess], Peer], bytes]] = {
    "leaf": (leaf, b"LS"),
    "route": (route, b"RS"),
}


@pytest.fixture
def server(callbacks: Callbacks, launch: Callable[[str], ServerProcess]) -> ServerProcess:
    """A measured server of the test's own."""
    return launch(CONFIG)


@pytest.mark.parametrize("kind", JOIN)
def test_a_peer_is_told_of_all_interest_and_its_changes(
    server: ServerProcess, callbacks: Callbacks, kind: str
) -> None:
    join, words = JOIN[kind]
    account = b"" if kind == "leaf" else b"A "
    with ExitStack() as ending, server.connect() as busy, server.connect() as changing:
        for first in range(0, COUNT, 1000):
            numbers = range(first, first + 1000)
            busy.send(
                b"".join(b"SUB a.%d.x %d\r\nSUB b.%d.* q w%d\r\n" % ((number,) * 4) for number in numbers)
            )
            busy.sync()
        changing.send(b"SUB a.0.x 1\r\nSUB gone 2\r\n")
        changing.sync()
        with callbacks.bounded(server):
            peer = join(server)
            ending.callback(peer.close)
            told = peer.hears(b"")
            # Whatever changes meanwhile is told as well.
            changing.send(b"UNSUB 1\r\nUNSUB 2\r\nSUB late 3\r\n")
            changing.sync()
            added = b"%b+ %b" % (words, account)
            while told.count(added + b"a.") < COUNT or told.count(added + b"b.") < COUNT:
                told += peer.hears(b"")
            told += peer.hears(b"")
        for number in range(0, COUNT, 999):
            assert added + b"a.%d.x\r\n" % number in told
            assert added + b"b.%d.* q 1\r\n" % number in told
        assert told.count(added + b"a.") == told.count(added + b"b.") == COUNT, "each is told once"
        ended = b"%b- %b" % (words, account)
        assert ended + b"a." not in told
        assert told.count(ended + b"gone\r\n") == told.count(added + b"gone\r\n")
        assert added + b"late\r\n" in told


def test_very_many_subscriptions_are_counted(server: ServerProcess, callbacks: Callbacks) -> None:
    with server.connect(user="sys", **{"pass": "p"}) as system:
        for first in range(0, COUNT, 1000):
            system.send(b"".join(b"SUB a.%d.x %d\r\n" % (n, n) for n in range(first, first + 1000)))
            system.sync()
        with callbacks.bounded(server):
            assert system.request("$SYS.DEBUG.SUBSCRIBERS", "a.7.x").body == b"1"
            assert system.request("$SYS.DEBUG.SUBSCRIBERS", "a.*.x").body == b"%d" % COUNT
