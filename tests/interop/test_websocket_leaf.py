"""Leaf connections over WebSocket, in all four combinations: TLS, compression, masks, proxies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from lib.eventually import eventually
from lib.http_proxy import HttpProxy
from lib.leaf_pair import heard, login
from lib.pool import START
from lib.process import ServerProcess
from lib.wire import Wire

PEMS = Path(__file__).parents[1] / "server" / "config" / "pem"
TLS = f'tls {{ cert_file: "{PEMS}/server.pem", key_file: "{PEMS}/server-key.pem" }}'
TRUST = f'tls {{ ca_file: "{PEMS}/ca.pem" }}'
ACCOUNTS = """
accounts { ACC: { users: [
  { user: acc, password: acc }
  { user: ws, password: ws, connection_types: [LEAFNODE_WS] }
] } }
listen: 127.0.0.1:<client>
"""
Start = Callable[[str, str], ServerProcess]


@pytest.fixture
def start() -> Iterator[Start]:
    """start(implementation, configuration)"""
    running: list[ServerProcess] = []

    def begin(implementation: str, config: str) -> ServerProcess:
        running.append(START[implementation](ACCOUNTS + config))
        return running[-1]

    yield begin
    for server in reversed(running):
        server.stop()


pytestmark = [
    pytest.mark.parametrize("hub", ["reference", "pyjs"]),
    pytest.mark.parametrize("leaf", ["reference", "pyjs"]),
]


def above_with(websocket: str = "no_tls: true", leafnodes: str = "") -> str:
    return f"""
server_name: above
leafnodes {{ listen: 127.0.0.1:<leaf>, {leafnodes} }}
websocket {{ listen: 127.0.0.1:<ws>, {websocket} }}
"""


def below_with(above: ServerProcess, more: str = "", url: str = "ws://acc:acc@127.0.0.1:{port}") -> str:
    remote = f'{{ url: "{url.format(port=above.ports["ws"])}", account: ACC, {more} }}'
    return f"server_name: below\nleafnodes {{ reconnect: 1, remotes: [{remote}] }}"


def works(above: ServerProcess, below: ServerProcess, *, compressed: bool = False) -> None:
    """Return when messages pass in both directions, and much of them.

    One nats-server compresses all it has pending in one message, and another refuses what inflates to more
    than the largest payload: between two of them there is no crowd where it is compressed.
    """
    with login(above) as high, login(below) as low:
        heard(high, low, "up")
        heard(low, high, "down")
        if compressed and above.name == below.name == "reference":
            return
        crowd(high, low)
        crowd(low, high)


def crowd(one: Wire, other: Wire) -> None:
    """Send much from `other` to `one`, small and large, at once."""
    bodies = [b"%d " % number * (number * 37 % 900) for number in range(500)] + [b"large " * 100_000] * 3
    one.sub("crowd.>", "9")
    one.sync()

    def arrives() -> bool:
        other.pub("crowd.probe")
        other.sync()
        one.unread.extend(one.sync())
        return bool(one.unread)

    eventually(arrives)
    other.send(b"".join(b"PUB crowd.real %d\r\n%s\r\n" % (len(body), body) for body in bodies))
    other.sync()
    received: list[bytes] = []
    while len(received) < len(bodies):
        message = one.msg()
        if message.subject == "crowd.real":
            received.append(message.body)
    assert received == bodies
    one.send("UNSUB 9\r\n")
    one.unread.clear()
    one.sync()


@pytest.mark.parametrize(
    "more", ["", "ws_no_masking: true", "ws_compression: true", "ws_compression: true, ws_no_masking: true"]
)
def test_a_leaf(start: Start, hub: str, leaf: str, more: str) -> None:
    above = start(hub, above_with("no_tls: true, compression: true"))
    works(above, start(leaf, below_with(above, more)), compressed="compression" in more)


def test_compression_that_the_hub_does_not_offer(start: Start, hub: str, leaf: str) -> None:
    above = start(hub, above_with())
    works(above, start(leaf, below_with(above, "ws_compression: true")))


def test_tls(start: Start, hub: str, leaf: str) -> None:
    above = start(hub, above_with(f"{TLS}, compression: true"))
    url = "wss://acc:acc@localhost:{port}"
    works(above, start(leaf, below_with(above, f"{TRUST}, ws_compression: true", url)), compressed=True)


def test_a_hub_that_cannot_be_trusted(start: Start, hub: str, leaf: str) -> None:
    above = start(hub, above_with(TLS))
    below = start(leaf, below_with(above, "", "wss://acc:acc@localhost:{port}"))
    eventually(lambda: "certificate" in below.log(), 60)


def test_a_path_before_that_of_leafs(start: Start, hub: str, leaf: str) -> None:
    """A proxy in front of the hub may want one."""
    above = start(hub, above_with())
    works(above, start(leaf, below_with(above, url="ws://acc:acc@127.0.0.1:{port}/some/where")))


def test_a_user_for_leafs_over_websocket_alone(start: Start, hub: str, leaf: str) -> None:
    above = start(hub, above_with())
    works(above, start(leaf, below_with(above, url="ws://ws:ws@127.0.0.1:{port}")))


def test_leafs_without_credentials(start: Start, hub: str, leaf: str) -> None:
    above = start(hub, above_with("no_tls: true, no_auth_user: acc"))
    works(above, start(leaf, below_with(above, url="ws://127.0.0.1:{port}")))


def test_a_wrong_password(start: Start, hub: str, leaf: str) -> None:
    above = start(hub, above_with())
    below = start(leaf, below_with(above, url="ws://acc:wrong@127.0.0.1:{port}"))
    eventually(lambda: "Authorization Violation" in below.log(), 60)


def test_a_hub_that_takes_no_leafs(start: Start, hub: str, leaf: str) -> None:
    above = start(hub, "server_name: above\nwebsocket { listen: 127.0.0.1:<ws>, no_tls: true }")
    start(leaf, below_with(above))
    eventually(lambda: "Not configured to accept leaf node connections" in above.log(), 60)


def test_a_port_that_is_no_websocket(start: Start, hub: str, leaf: str) -> None:
    above = start(hub, above_with())
    remote = f'{{ url: "ws://127.0.0.1:{above.port}", account: ACC }}'
    below = start(leaf, f"server_name: below\nleafnodes {{ reconnect: 1, remotes: [{remote}] }}")
    eventually(lambda: "WebSocket" in below.log() or "websocket" in below.log(), 60)


@pytest.mark.parametrize("secure", [False, True])
def test_a_proxy(start: Start, hub: str, leaf: str, secure: bool) -> None:
    above = start(hub, above_with(TLS if secure else "no_tls: true"))
    with HttpProxy("me", "secret") as proxy:
        more = f'proxy {{ url: "http://127.0.0.1:{proxy.port}", username: me, password: secret }}'
        url = f"{'wss' if secure else 'ws'}://acc:acc@127.0.0.1:{{port}}"
        works(above, start(leaf, below_with(above, f"{more}{f', {TRUST}' if secure else ''}", url)))
        assert proxy.asked[0] == f"127.0.0.1:{above.ports['ws']}"


def test_a_proxy_that_wants_another_password(start: Start, hub: str, leaf: str) -> None:
    above = start(hub, above_with())
    with HttpProxy("me", "secret") as proxy:
        more = f'proxy {{ url: "http://127.0.0.1:{proxy.port}", username: me, password: wrong }}'
        below = start(leaf, below_with(above, more))
        eventually(lambda: "proxy CONNECT failed: 407" in below.log(), 60)


def test_the_leaf_comes_again(start: Start, hub: str, leaf: str) -> None:
    above = start(hub, above_with())
    with HttpProxy() as proxy:
        below = start(leaf, below_with(above, f'proxy {{ url: "http://127.0.0.1:{proxy.port}" }}'))
        works(above, below)
        assert proxy.cut() == 1
        works(above, below)
