"""Leaf connections with TLS, nkeys and a plain password block, in all four combinations."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import nkeys
import pytest
from lib.eventually import eventually
from lib.leaf_pair import heard, login
from lib.pool import START
from lib.process import ServerProcess

PEMS = Path(__file__).parents[1] / "server" / "config" / "pem"
ACCOUNTS = """
accounts { ACC: { users: [{user: acc, password: acc}] } }
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


def works(above: ServerProcess, below: ServerProcess) -> None:
    with login(above) as high, login(below) as low:
        heard(high, low, "up")
        heard(low, high, "down")


def listener(more: str) -> str:
    return f"server_name: above\nleafnodes {{ listen: 127.0.0.1:<leaf>\n{more} }}"


def joiner(above: ServerProcess, more: str, url: str = "nats-leaf://acc:acc@localhost:{port}") -> str:
    url = url.format(port=above.ports["leaf"])
    remote = f'{{ url: "{url}", account: ACC, {more} }}'
    return f"server_name: below\nleafnodes {{ reconnect: 1, remotes: [{remote}] }}"


def tls(name: str, more: str = "") -> str:
    return f"""tls {{
        cert_file: "{PEMS / name}.pem", key_file: "{PEMS / name}-key.pem", ca_file: "{PEMS / "ca"}.pem"
        {more}
    }}"""


@pytest.mark.parametrize(
    "more", ["", "verify: true", "handshake_first: true"], ids=["plain", "verify", "first"]
)
def test_tls(start: Start, hub: str, leaf: str, more: str) -> None:
    above = start(hub, listener(tls("server", more)))
    first = "handshake_first: true" if "first" in more else ""
    works(above, start(leaf, joiner(above, tls("client", first))))


def test_tls_that_only_the_hub_asks_for_is_not_trusted_blindly(start: Start, hub: str, leaf: str) -> None:
    """Without the authority the leaf does not send its password."""
    above = start(hub, listener(tls("server")))
    below = start(leaf, joiner(above, ""))
    eventually(lambda: "handshake" in below.log(), 60)
    with login(above) as high, login(below) as low:
        low.sub("secret", "1")
        low.sync()
        assert high.request("secret").status == "503"


def test_an_nkey_logs_in(start: Start, hub: str, leaf: str) -> None:
    seed = nkeys.encode_seed(b"7" * 32, nkeys.PREFIX_BYTE_USER).decode()
    public = nkeys.from_seed(seed.encode()).public_key.decode()
    above = start(hub, listener(f"authorization {{ nkey: {public}, account: ACC }}"))
    works(above, start(leaf, joiner(above, f"nkey: {seed}", "nats-leaf://127.0.0.1:{port}")))


def test_a_list_of_urls_is_tried_in_turn(start: Start, hub: str, leaf: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        dead = deaf.getsockname()[1]
    above = start(hub, listener("authorization { user: u, password: p, account: ACC }"))
    urls = f'["nats-leaf://u:p@127.0.0.1:{dead}", "nats-leaf://u:p@127.0.0.1:{above.ports["leaf"]}"]'
    remote = f"{{ urls: {urls}, account: ACC, no_randomize: true }}"
    works(above, start(leaf, f"server_name: below\nleafnodes {{ reconnect: 1, remotes: [{remote}] }}"))
