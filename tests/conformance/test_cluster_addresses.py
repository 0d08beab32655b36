"""The addresses of a cluster's other servers, as clients and leafs receive them."""

from __future__ import annotations

import signal
from collections.abc import Callable

import pytest
from lib import reference
from lib.eventually import eventually
from lib.process import ServerProcess
from lib.web_socket import WebSocket
from lib.wire import Wire

CONFIG = """
listen: 127.0.0.1:<client>
server_name: {name}
cluster {{ name: c, listen: "127.0.0.1:<route>", routes: [{routes}] }}
leafnodes {{ listen: "127.0.0.1:<leaf>" }}
"""
LEAF = {"version": "2.15.1", "server_id": "NLEAF", "name": "L", "cluster": "L", "remote_account": "$G"}
REMOTE = """
listen: 127.0.0.1:<client>
server_name: L
leafnodes {{ reconnect: 1, remotes: [{{ url: "{url}" }}] }}
"""


@pytest.fixture
def pair(launch: Callable[[str], ServerProcess]) -> tuple[ServerProcess, ServerProcess]:
    """Two servers of one cluster; the second dials the first."""
    first = launch(CONFIG.format(name="a", routes=""))
    route = f'"nats-route://127.0.0.1:{first.ports["route"]}"'
    return first, launch(CONFIG.format(name="b", routes=route))


def addresses(*servers: ServerProcess, port: str = "client") -> list[str]:
    return sorted(f"127.0.0.1:{server.ports[port]}" for server in servers)


def received(wire: Wire, field: str) -> list[str]:
    """What the latest INFO that has come says of others."""
    wire.sync()
    return sorted(wire.infos[-1].get(field) or [])


def test_a_server_that_ends_leaves_the_others_addresses(pair: tuple[ServerProcess, ServerProcess]) -> None:
    here, there = pair
    with here.connect() as wire:
        eventually(lambda: received(wire, "connect_urls") == addresses(here, there))
        here.signal(signal.SIGTERM)
        wire.ends()
        assert addresses(there)[0] in wire.infos[-1]["connect_urls"]


def test_a_server_that_has_gone_is_no_longer_announced(pair: tuple[ServerProcess, ServerProcess]) -> None:
    here, there = pair
    with here.connect() as wire:
        eventually(lambda: received(wire, "connect_urls") == addresses(here, there))
        there.end()
        eventually(lambda: received(wire, "connect_urls") == addresses(here))


def test_leafs_learn_of_all_servers(pair: tuple[ServerProcess, ServerProcess]) -> None:
    here, there = pair
    both = addresses(here, there, port="leaf")
    for server in pair:
        eventually(lambda server=server: _greeting(server) == both)  # type: ignore[misc]
    with Wire(here.ports["leaf"]) as leaf:
        leaf.login(**LEAF)
        assert received(leaf, "leafnode_urls") == both
        there.end()
        eventually(lambda: received(leaf, "leafnode_urls") == addresses(here, port="leaf"))
        there.launch()
        eventually(lambda: received(leaf, "leafnode_urls") == both)
        here.signal(signal.SIGTERM)
        leaf.ends()
        assert sorted(leaf.infos[-1]["leafnode_urls"]) == both


def _greeting(server: ServerProcess) -> list[str]:
    with Wire(server.ports["leaf"]) as wire:
        return sorted(wire.info["leafnode_urls"])


def test_a_server_on_every_address_shows_those_of_the_machine(
    launch: Callable[[str], ServerProcess],
) -> None:
    """By the reference's word: the other server is one, which lists its own addresses beside ours."""
    first = launch(CONFIG.format(name="a", routes="").replace("127.0.0.1:<client>", "0.0.0.0:<client>"))
    route = f'"nats-route://127.0.0.1:{first.ports["route"]}"'
    config = CONFIG.format(name="b", routes=route).replace("127.0.0.1:<client>", "0.0.0.0:<client>")
    second = reference.start(config)
    try:
        with first.connect() as wire:
            hosts: dict[int, set[str]] = {}

            def both() -> bool:
                for url in received(wire, "connect_urls"):
                    host, _, port = url.rpartition(":")
                    hosts.setdefault(int(port), set()).add(host)
                return second.port in hosts

            eventually(both)
            assert hosts[first.port] == hosts[second.port]
    finally:
        second.stop()


@pytest.mark.parametrize("scheme", ["leaf", "nats", "nats-leaf", "whatever"])
def test_a_remote_is_dialled_whatever_its_scheme(
    launch: Callable[[str], ServerProcess], scheme: str, unique: str
) -> None:
    hub = launch(CONFIG.format(name="a", routes=""))
    leaf = launch(REMOTE.format(url=f"{scheme}://127.0.0.1:{hub.ports['leaf']}"))
    with hub.connect() as listener, leaf.connect() as speaker:
        listener.sub(unique)
        listener.sync()

        def arrives() -> bool:
            speaker.pub(unique, "x")
            speaker.sync()
            return bool(listener.sync())

        eventually(arrives)


def test_websocket_clients_get_addresses_of_their_own(launch: Callable[[str], ServerProcess]) -> None:
    """Clients by TCP get none of them, and leaf nodes only those of other servers."""
    websocket = "websocket { listen: 127.0.0.1:<ws>, no_tls: true }\n"
    first = launch(CONFIG.format(name="a", routes="") + websocket)
    route = f'"nats-route://127.0.0.1:{first.ports["route"]}"'
    second = launch(CONFIG.format(name="b", routes=route) + websocket)
    client = WebSocket(first.ports["ws"])
    client.upgrade()
    client.infos.append(client.info())
    client.login()

    def known(port: str, *servers: ServerProcess) -> bool:
        client.nats("PING\r\n")
        assert client.line() == b"PONG"
        return sorted(client.infos[-1].get("connect_urls", [])) == addresses(*servers, port=port)

    eventually(lambda: known("ws", first, second))
    with first.connect() as wire:
        eventually(lambda: received(wire, "connect_urls") == addresses(first, second))
        assert "ws_connect_urls" not in wire.infos[-1]
    second.signal(signal.SIGTERM)
    eventually(lambda: not known("ws", first, second))
    client.close()
