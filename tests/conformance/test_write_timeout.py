"""What happens to clients and leaf nodes that do not read within the `write_deadline`."""

from __future__ import annotations

import json
import socket
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Thread
from typing import Any

import pytest
from lib.eventually import eventually
from lib.leaf_wire import LeafWire
from lib.process import ServerProcess

CONFIG = """
listen: 127.0.0.1:<client>
server_name: S
http: 127.0.0.1:<http>
write_deadline: "700ms"
max_pending: 256MB
{client}
leafnodes {{ listen: 127.0.0.1:<leaf>, {leaf} }}
"""
BODY = b"x" * (1 << 20)
COUNT = 40  # MiB that are sent; the kernel holds a few
PIECE = 1 << 16
PARTS = ("write_deadline", "write_timeout")
Launch = Callable[[str], ServerProcess]


def configuration(client: str = "", leaf: str = "") -> str:
    shown = [f"write_timeout: {given}" if given else "" for given in (client, leaf)]
    return CONFIG.format(client=shown[0], leaf=shown[1])


def varz(server: ServerProcess) -> dict[str, Any]:
    with urllib.request.urlopen(f"http://127.0.0.1:{server.ports['http']}/varz", timeout=20) as answer:
        found: dict[str, Any] = json.load(answer)
        return found


def slow(server: ServerProcess, kind: str) -> int:
    found = varz(server)
    counted: int = found["slow_consumer_stats"][kind]
    assert found["slow_consumers"] >= counted
    return counted


def read_slowly(server: ServerProcess, sock: socket.socket, kind: str) -> int:
    """Read a little at a time until the server has counted a late write. Return how many bytes came."""
    read = 0

    def counted() -> bool:
        nonlocal read
        with suppress(ConnectionError):
            read += sum(len(sock.recv(PIECE)) for _ in range(4))
        return slow(server, kind) > 0

    eventually(counted)
    return read


def rest(sock: socket.socket, read: int, size: int) -> int:
    """Read until there are `size` bytes, or the end."""
    try:
        while read < size and (data := sock.recv(1 << 20)):
            read += len(data)
    except ConnectionError:
        pass
    return read


@contextmanager
def publishing(server: ServerProcess) -> Iterator[None]:
    """Publish all, while somebody reads."""

    def publish() -> None:
        with server.connect() as wire:
            for _ in range(COUNT):
                wire.pub("a", BODY)
            wire.sync()

    thread = Thread(target=publish)
    thread.start()
    try:
        yield
    finally:
        thread.join()


def subscriber(server: ServerProcess) -> socket.socket:
    wire = server.connect()
    wire.sub("a")
    wire.sync()
    return wire.sock


def leaf(server: ServerProcess) -> socket.socket:
    wire = LeafWire(socket.create_connection(("127.0.0.1", server.ports["leaf"])))
    wire.until("INFO ")
    options = {"server_id": "NL", "name": "L", "cluster": "L", "headers": True, "protocol": 3}
    wire.send("CONNECT " + json.dumps(options) + "\r\n")
    wire.until("INFO ")
    wire.send("LS+ a\r\n")
    wire.lines_until_pong()
    return wire.sock


@pytest.mark.parametrize(
    ("kind", "policy", "stays"),
    [
        ("clients", "", False),
        ("clients", "retry", True),
        ("leafs", "", True),
        ("leafs", "close", False),
    ],
)
def test_a_peer_that_reads_slowly(launch: Launch, kind: str, policy: str, stays: bool) -> None:
    of_clients = kind == "clients"
    server = launch(configuration(policy) if of_clients else configuration("close", policy))
    with (subscriber if of_clients else leaf)(server) as sock, publishing(server):
        read = read_slowly(server, sock, kind)
        assert read < COUNT << 20
        assert (rest(sock, read, COUNT << 20) >= COUNT << 20) is stays


def test_a_client_that_reads_nothing_is_closed_all_the_same(launch: Launch) -> None:
    server = launch(configuration("retry"))
    with subscriber(server) as sock:
        with publishing(server):
            pass
        eventually(lambda: slow(server, "clients") > 0 and varz(server)["connections"] == 0)
        assert rest(sock, 0, COUNT << 20) < COUNT << 20


def test_monitoring_shows_the_policies(launch: Launch) -> None:
    block = 'listen: 127.0.0.1:<{0}>, write_deadline: "3s", write_timeout: close'
    server = launch(
        configuration("retry")
        + "accounts { SYS {} }\nsystem_account: SYS\n"
        + f"cluster {{ name: C, {block.format('route')} }}\n"
        f"gateway {{ name: C, {block.format('gateway')} }}"
    )
    found = varz(server)
    assert (found["write_deadline"], found["write_timeout"]) == (700_000_000, "retry")
    for name in ("cluster", "gateway"):
        assert [found[name][part] for part in PARTS] == [3_000_000_000, "close"]
    assert "write_timeout" not in varz(launch(configuration()))


def test_an_unknown_policy_is_refused(launch: Launch) -> None:
    with pytest.raises(RuntimeError, match="write_timeout"):
        launch(configuration("never"))
