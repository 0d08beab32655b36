"""Other servers that do their worst: names, subjects and interest without end, halves, and no handshake.

Processor time is counted (lib/callbacks.py): whatever a peer sends, nobody else waits.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from lib import gateway_peer
from lib.callbacks import Callbacks
from lib.eventually import eventually
from lib.process import ServerProcess
from lib.raw_peer import Peer, leaf, route

PEMS = Path(__file__).parent / "pem"
CONFIG = """
listen: 127.0.0.1:<client>
server_name: S
leafnodes { listen: 127.0.0.1:<leaf> }
cluster { name: C, listen: 127.0.0.1:<route> }
gateway { name: C, listen: 127.0.0.1:<gateway> }
accounts {
  A { users: [{ user: a, password: p }] }
  SYS { users: [{ user: sys, password: p }] }
}
system_account: SYS
no_auth_user: a
"""
COUNT = 10_000
LONG = b"x" * 4000
Launch = Callable[[str], ServerProcess]


def gateway(server: ServerProcess) -> Peer:
    info = gateway_peer.info("P")
    return Peer(server, "gateway", gateway_peer.connect("P") + info)


JOIN: dict[str, Callable[[ServerProcess], Peer]] = {"leaf": leaf, "route": route, "gateway": gateway}


@pytest.fixture
def server(callbacks: Callbacks, launch: Launch) -> ServerProcess:
    """A measured server of the test's own."""
    return launch(CONFIG)


def floods(kind: str) -> list[bytes]:
    """Return what a peer sends: many names, many long subjects, and much interest in one of them."""
    if kind == "gateway":  # interest comes the other way
        return [b"RMSG N%d a 1\r\nx\r\n" % n for n in range(COUNT)] + [
            b"RMSG A %b.%d 1\r\nx\r\n" % (LONG, n) for n in range(COUNT // 5)
        ]
    if kind == "leaf":
        return [b"LS+ %b.%d\r\n" % (LONG, n) for n in range(COUNT // 5)] + [
            b"LS+ a.%d\r\nLS- a.%d\r\nLS+ a q%d 1000000\r\n" % (n, n, n) for n in range(COUNT)
        ]
    return [b"RS+ N%d a\r\nRMSG N%d a 1\r\nx\r\n" % (n, n) for n in range(COUNT)] + [
        b"RS+ A %b.%d\r\nRMSG A %b.%d 1\r\nx\r\n" % (LONG, n, LONG, n) for n in range(COUNT // 5)
    ]


@pytest.mark.parametrize("kind", JOIN)
def test_floods_delay_nobody(server: ServerProcess, callbacks: Callbacks, kind: str) -> None:
    with server.connect() as client, closing(JOIN[kind](server)) as peer, callbacks.bounded(server):
        peer.hears(b"")
        sent = floods(kind)
        for first in range(0, len(sent), 500):
            peer.hears(b"".join(sent[first : first + 500]))
            client.sync()
        peer.sock.sendall(b"RMSG A half 60000000\r\n" if kind != "leaf" else b"LMSG half 1000000\r\n")
        peer.sock.sendall(bytes(100_000))
        client.sub("other", "1")
        client.pub("other", "x")
        assert client.sync()
    closed = {"leaf": "Leafnode", "route": "Router", "gateway": "Gateway"}[kind]
    eventually(lambda: f"{closed} connection closed" in server.log())


TLS = f'tls {{ cert_file: "{PEMS}/server.pem", key_file: "{PEMS}/server-key.pem", timeout: 0.3 }}'
SECURE = CONFIG.replace(" }\ncluster", f", {TLS} }}\ncluster").replace(" }\ngateway", f", {TLS} }}\ngateway")
SECURE = SECURE.replace(" }\naccounts", f", {TLS} }}\naccounts")


def first_message() -> bytes:
    """Return the first message of a TLS handshake."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(incoming, outgoing, server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


def test_handshakes_that_never_end_do(launch: Launch) -> None:
    server = launch(SECURE)
    whole = first_message()
    with ExitStack() as ending:
        waiting = []
        for port in JOIN:
            for first in (b"", whole[:1], whole[:100], whole):
                sock = socket.create_connection(("127.0.0.1", server.ports[port]), timeout=20)
                waiting.append(ending.enter_context(closing(sock)))
                sock.sendall(first)
        for sock in waiting:
            try:
                while sock.recv(1 << 16):
                    pass
            except ConnectionResetError:
                pass
    with server.connect() as client:
        client.sync()


DIALS = """
listen: 127.0.0.1:<client>
server_name: S
leafnodes {{ reconnect: "200ms", remotes: [{{ url: "nats-leaf://127.0.0.1:{leaf}"
    {first} }}] }}
cluster {{ name: C, listen: 127.0.0.1:<route>, routes: ["nats-route://127.0.0.1:{route}"]
    {tls} }}
gateway {{ name: C, listen: 127.0.0.1:<gateway>, gateways: [{{ name: D, url: "nats://127.0.0.1:{gateway}" }}]
    {tls} }}
accounts {{ SYS {{ users: [{{ user: sys, password: p }}] }} }}
system_account: SYS
"""


def test_who_answers_no_handshake_is_left_and_dialled_again(launch: Launch) -> None:
    first = TLS.replace("timeout", "handshake_first: true, timeout")
    with ExitStack() as ending:
        silent = {kind: ending.enter_context(socket.create_server(("127.0.0.1", 0))) for kind in JOIN}
        ports = {kind: listener.getsockname()[1] for kind, listener in silent.items()}
        launch(DIALS.format(**ports, tls=TLS, first=first))
        for listener in silent.values():
            listener.settimeout(20)
            with listener.accept()[0] as sock:
                sock.settimeout(20)
                while sock.recv(1 << 16):
                    pass
            listener.accept()[0].close()
