"""A connection that leaves with very many interests delays nobody, and nothing more is sent to it.

A leaf, a route and a client of queue groups, each with 20,000 interests, go while others publish. Processor
time is counted (lib/callbacks.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from lib.callbacks import Callbacks
from lib.eventually import eventually
from lib.process import ServerProcess
from lib.raw_peer import LOOP, Peer, leaf, route
from lib.wire import Msg, Wire

COUNT = 20_000
CONFIG = """
listen: 127.0.0.1:<client>
server_name: S
leafnodes { listen: 127.0.0.1:<leaf> }
cluster { name: C, listen: 127.0.0.1:<route> }
accounts {
  A { users: [{ user: a, password: p }] }
  B { users: [{ user: b, password: p }] }
}
no_auth_user: a
"""


@pytest.fixture
def server(callbacks: Callbacks, launch: Callable[[str], ServerProcess]) -> ServerProcess:
    """A measured server of the test's own."""
    return launch(CONFIG)


def again(server: ServerProcess, kind: str) -> Peer:
    """The peer that was just closed; the reference takes no second route of it before."""
    found: list[Peer] = []

    def accepted() -> bool:
        peer = leaf(server) if kind == "leaf" else route(server)
        try:
            peer.hears(b"")
            peer.hears(b"")
        except (AssertionError, OSError):
            peer.close()
            return False
        found.append(peer)
        return True

    eventually(accepted)
    return found[0]


def interest(line: bytes) -> bytes:
    return b"".join(line % number for number in range(COUNT))


def heard(wire: Wire, subject: str) -> bool:
    """Whether anybody hears a subject."""
    wire.pub(subject, b"", reply="back")
    return not any(isinstance(frame, Msg) and frame.status == "503" for frame in wire.sync())


@pytest.fixture
def asker(server: ServerProcess) -> Iterator[Wire]:
    """A client that is told when nobody hears."""
    with server.connect() as wire:
        wire.sub("back")
        yield wire


@pytest.mark.parametrize("kind", ["leaf", "route"])
def test_a_peer_leaves(server: ServerProcess, callbacks: Callbacks, asker: Wire, kind: str) -> None:
    peer = leaf(server) if kind == "leaf" else route(server)
    peer.hears(interest(b"LS+ a.%d.x\r\n" if kind == "leaf" else b"RS+ A a.%d.x\r\n"))
    assert heard(asker, "a.0.x")
    with callbacks.bounded(server):
        peer.close()
        eventually(lambda: not heard(asker, f"a.{COUNT - 1}.x"))
        assert not any(heard(asker, f"a.{number}.x") for number in range(0, COUNT, 5000))
        # The same peer again: what it hears now is found, what it heard before is not.
        peer = again(server, kind)
        peer.hears(b"LS+ a.1.*\r\n" if kind == "leaf" else b"RS+ A a.1.*\r\n")
        assert heard(asker, "a.1.x")
        assert not heard(asker, "a.2.x")
        peer.close()


def test_a_leaf_that_reconnects_is_not_sent_what_it_had(server: ServerProcess) -> None:
    first = leaf(server)
    first.hears(b"LS+ %b\r\n" % LOOP + interest(b"LS+ a.%d.x\r\n"))
    second = leaf(server)
    second.sock.sendall(b"LS+ $LDS.none\r\nPING\r\n")
    received = second.read(b"PONG\r\n")
    assert LOOP not in received
    assert b"LS+ a." not in received
    first.close()
    second.close()


def test_a_client_with_many_queue_subscriptions_leaves(
    server: ServerProcess, callbacks: Callbacks, asker: Wire
) -> None:
    leaving = server.connect()
    leaving.send(b"".join(b"SUB a.%d.x q %d\r\n" % (number, number) for number in range(COUNT)))
    leaving.sync()
    subjects = [f"a.{number}.x" for number in range(0, COUNT, COUNT // 100)]

    def taken() -> int:
        """How many of a hundred messages the other member is given."""
        for subject in subjects:
            asker.pub(subject, b"x")
        asker.sync()
        return len(staying.sync())

    with server.connect() as staying, callbacks.bounded(server):
        staying.sub("a.*.x", "1", queue="q")
        staying.sync()
        assert 20 < taken() < 80
        leaving.close()
        eventually(lambda: taken() == len(subjects))
        assert [taken() for _ in range(5)] == [len(subjects)] * 5
