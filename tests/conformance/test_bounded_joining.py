"""A leaf or route that joins an account with very many interests learns all of them and delays nobody.

A leaf and a route come to a server whose clients have 20,000 interests, and a route to one of 5,000 accounts;
a reload removes an account that a route shares. Processor time is counted (lib/callbacks.py).
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from contextlib import ExitStack, closing

import pytest
from lib.callbacks import Callbacks
from lib.eventually import eventually
from lib.process import ServerProcess
from lib.raw_peer import Peer, leaf, route
from lib.wire import Wire

COUNT = 10_000
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


def test_a_peer_learns_all_interest_and_its_changes(server: ServerProcess, callbacks: Callbacks) -> None:
    with server.connect() as busy:
        for first in range(0, COUNT, 1000):
            numbers = range(first, first + 1000)
            busy.send(
                b"".join(b"SUB a.%d.x %d\r\nSUB b.%d.* q w%d\r\n" % ((number,) * 4) for number in numbers)
            )
            busy.sync()
        for kind in JOIN:
            with server.connect() as changing, callbacks.bounded(server):
                send_changes(server, changing, kind)


def send_changes(server: ServerProcess, changing: Wire, kind: str) -> None:
    """Let a peer join, which ends again, while interest changes; check what it is told."""
    join, words = JOIN[kind]
    account = b"" if kind == "leaf" else b"A "
    changing.send(b"SUB a.0.x 1\r\nSUB gone 2\r\n")
    changing.sync()
    with closing(join(server)) as peer:
        received = peer.hears(b"")
        # Whatever changes meanwhile is told as well.
        changing.send(b"UNSUB 1\r\nUNSUB 2\r\nSUB late 3\r\n")
        changing.sync()
        added = b"%b+ %b" % (words, account)
        while received.count(added + b"a.") < COUNT or received.count(added + b"b.") < COUNT:
            received += peer.hears(b"")
        received += peer.hears(b"")
    for number in range(0, COUNT, 999):
        assert added + b"a.%d.x\r\n" % number in received
        assert added + b"b.%d.* q 1\r\n" % number in received
    assert received.count(added + b"a.") == received.count(added + b"b.") == COUNT, "each is told once"
    ended = b"%b- %b" % (words, account)
    assert ended + b"a." not in received
    assert received.count(ended + b"gone\r\n") == received.count(added + b"gone\r\n")
    assert added + b"late\r\n" in received


def reload(server: ServerProcess, config: str) -> None:
    server.configure(config)
    server.signal(signal.SIGHUP)
    eventually(lambda: "Reloaded server configuration" in server.log())


def test_a_peer_learns_that_all_interest_in_an_account_has_ended(
    callbacks: Callbacks, launch: Callable[[str], ServerProcess]
) -> None:
    account = "A { users: [{ user: a, password: p }] }"
    without = CONFIG.replace(account, "B { users: [{ user: b, password: p }] }")
    without = without.replace("no_auth_user: a", "no_auth_user: b")
    server = launch(without.replace("accounts {", f"accounts {{ {account}"))
    with closing(route(server)) as peer, server.connect(user="a", **{"pass": "p"}) as busy:
        for first in range(0, COUNT, 1000):
            numbers = range(first, first + 1000)
            busy.send(b"".join(b"SUB a.%d.x %d\r\n" % (number, number) for number in numbers))
            busy.sync()
            peer.hears(b"".join(b"RS+ A b.%d.x\r\n" % number for number in numbers))
        with callbacks.bounded(server):
            reload(server, without)
            busy.ends()
            received = peer.hears(b"")
            while received.count(b"RS- A a.") < COUNT:
                received += peer.hears(b"")
    assert received.count(b"RS- A a.") == COUNT, "each end is told once"


def test_a_peer_shares_very_many_accounts(
    callbacks: Callbacks, launch: Callable[[str], ServerProcess]
) -> None:
    accounts = "".join(
        f"A{number} {{ users: [{{ user: u{number}, password: p }}] }}\n" for number in range(5000)
    )
    config = CONFIG.replace("accounts {", f"accounts {{ {accounts}")
    server = launch(config)
    with ExitStack() as ending:
        for number in (0, 2500, 4999):
            wire = ending.enter_context(server.connect(user=f"u{number}", **{"pass": "p"}))
            wire.sub("here")
            wire.sync()
        with callbacks.bounded(server):
            peer = route(server)
            received = peer.hears(b"")
            while b"RS+ A4999 here" not in received:
                received += peer.hears(b"")
            assert received.count(b" here\r\n") == 3
            reload(server, config + "max_payload: 1000000\n")
            assert b"PONG" in peer.hears(b"")
            peer.close()
            eventually(lambda: server.log().count("Router connection closed") == 1)


def test_very_many_subscriptions_are_counted(server: ServerProcess, callbacks: Callbacks) -> None:
    count = 2 * COUNT
    with server.connect(user="sys", **{"pass": "p"}) as system:
        for first in range(0, count, 1000):
            system.send(b"".join(b"SUB a.%d.x %d\r\n" % (n, n) for n in range(first, first + 1000)))
            system.sync()
        with callbacks.bounded(server):
            assert system.request("$SYS.DEBUG.SUBSCRIBERS", "a.7.x").body == b"1"
            assert system.request("$SYS.DEBUG.SUBSCRIBERS", "a.*.x").body == b"%d" % count
