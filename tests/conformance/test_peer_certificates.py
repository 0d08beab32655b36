"""What certificates of routes and gateways prove: `verify_and_map`, known URLs, and pins after a reload."""

from __future__ import annotations

import hashlib
import json
import signal
import socket
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from lib.eventually import eventually
from lib.process import ServerProcess

PEMS = Path(__file__).parent / "pem"
KINDS = ["cluster", "gateway"]
CONFIG = """
listen: 127.0.0.1:<client>
server_name: S
%s {
    name: C
    listen: 127.0.0.1:<peers>
    %s
    tls { cert_file: "%s/server.pem", key_file: "%s/server-key.pem", ca_file: "%s/ca.pem", %s }
}
"""
Launch = Callable[[str], ServerProcess]


def config(kind: str, tls: str, *, user: str = "", host: str = "") -> str:
    inside = f'authorization {{ user: "{user}", password: secret }}\n' if user else ""
    if host:
        url = f"nats://{host}:1"
        inside += f'routes: ["{url}"]' if kind == "cluster" else f'gateways: [{{ name: D, url: "{url}" }}]'
    return CONFIG % (kind, inside, PEMS, PEMS, PEMS, tls)


def dial(server: ServerProcess, kind: str, certificate: str, **fields: str) -> ssl.SSLSocket:
    """Introduce ourselves as another server, with a certificate of this name."""
    context = ssl.create_default_context(cafile=str(PEMS / "ca.pem"))
    if certificate:
        context.load_cert_chain(PEMS / f"{certificate}.pem", PEMS / f"{certificate}-key.pem")
    plain = socket.create_connection(("127.0.0.1", server.ports["peers"]), timeout=20)
    sock = context.wrap_socket(plain, server_hostname="localhost")
    name = "N" + "A" * 55
    own = {"cluster": "C"} if kind == "cluster" else {"gateway": "D"}
    info = {"server_id": name, "server_name": "R", "host": "127.0.0.1", "port": 1, "proto": 1, **own}
    connect = {"name": name, "verbose": False, "pedantic": False, **own, **fields}
    sock.sendall(b"CONNECT %b\r\nINFO %b\r\n" % (json.dumps(connect).encode(), json.dumps(info).encode()))
    return sock


def greeting(server: ServerProcess, kind: str, certificate: str, **fields: str) -> bytes:
    """Return whether the server lets in a peer with a certificate: PONG, or its error."""
    with dial(server, kind, certificate, **fields) as sock:
        sock.sendall(b"PING\r\n")
        said = b""
        while True:
            try:
                more = sock.recv(1 << 16)
            except OSError:
                more = b""
            said += more
            for line in (b"PONG", b"-ERR 'Authorization Violation'"):
                if line in said:
                    return line
            assert more, said


def joins(server: ServerProcess, kind: str, certificate: str, **fields: str) -> bool:
    return greeting(server, kind, certificate, **fields) == b"PONG"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("certificate", "user", "let_in"),
    [
        ("names", "ann@example.com", True),
        ("names", "app.example.com", True),
        ("names", "spiffe://example.com/app", True),
        ("names", "CN=ann,OU=Ship,O=Orders", True),
        ("subject", "CN=bob,OU=Ship,O=Orders,DC=com,DC=example", True),
        ("subject", "CN=bob,OU=Ship,O=Orders", True),
        ("names", "O=Orders,OU=Ship,CN=ann", False),
        ("names", "APP.example.com", False),
        ("names", "ann", False),
        ("one", "two.example.com", False),
        ("one", "", False),
    ],
)
def test_a_certificate_names_the_user(
    launch: Launch, kind: str, certificate: str, user: str, let_in: bool
) -> None:
    server = launch(config(kind, "verify_and_map: true", user=user))
    assert joins(server, kind, certificate) is let_in


@pytest.mark.parametrize("kind", KINDS)
def test_user_and_password_of_connect_do_not_count_then(launch: Launch, kind: str) -> None:
    server = launch(config(kind, "verify_and_map: true", user="one.example.com"))
    assert not joins(server, kind, "two", user="one.example.com", **{"pass": "secret"})
    assert joins(server, kind, "one", user="nobody", **{"pass": "wrong"})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("host", "let_in"), [("localhost", True), ("LOCALHOST", True), ("127.0.0.1", False)])
def test_a_certificate_names_a_known_url(launch: Launch, kind: str, host: str, let_in: bool) -> None:
    server = launch(config(kind, "verify_cert_and_check_known_urls: true", host=host))
    assert joins(server, kind, "server") is let_in
    assert not joins(server, kind, "one")


@pytest.mark.parametrize("kind", KINDS)
def test_either_check_lets_a_peer_in(launch: Launch, kind: str) -> None:
    both = "verify_and_map: true, verify_cert_and_check_known_urls: true"
    server = launch(config(kind, both, user="one.example.com", host="localhost"))
    assert joins(server, kind, "server")
    assert joins(server, kind, "one")
    assert not joins(server, kind, "two")


@pytest.mark.parametrize("kind", KINDS)
def test_a_peer_without_a_certificate_is_refused(launch: Launch, kind: str) -> None:
    """Whatever `verify` says."""
    server = launch(config(kind, "verify: false"))
    with pytest.raises((OSError, AssertionError)):
        greeting(server, kind, "")
    assert joins(server, kind, "one")


def pin(certificate: str) -> str:
    """Return a certificate as `pinned_certs` has it."""
    key = x509.load_pem_x509_certificate((PEMS / f"{certificate}.pem").read_bytes()).public_key()
    return hashlib.sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).hexdigest()


@pytest.mark.parametrize("kind", KINDS)
def test_a_reload_closes_peers_that_are_no_longer_pinned(launch: Launch, kind: str) -> None:
    one, two = pin("one"), pin("two")
    server = launch(config(kind, f'pinned_certs: ["{one}", "{two}"]'))
    with dial(server, kind, "one") as sock:
        sock.sendall(b"PING\r\n")
        assert b"PONG" in _read_until(sock, b"PONG")
        server.configure(config(kind, f'pinned_certs: ["{two}"]'))
        server.signal(signal.SIGHUP)
        with pytest.raises(EOFError):
            _read_until(sock, b"never")
    assert joins(server, kind, "two")
    eventually(lambda: "Reloaded" in server.log())


def _read_until(sock: socket.socket, last: bytes) -> bytes:
    said = b""
    while last not in said:
        try:
            more = sock.recv(1 << 16)
        except OSError:
            more = b""
        if not more:
            raise EOFError
        said += more
    return said
