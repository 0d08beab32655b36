"""A reload reads certificates again whose paths are the same, as after a renewal by certbot."""

from __future__ import annotations

import signal
import socket
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography import x509
from lib.certificates import Authority
from lib.eventually import eventually
from lib.process import ServerProcess

Launch = Callable[[str], ServerProcess]
FRONT = """
listen: 127.0.0.1:<client>
server_name: S
https: 127.0.0.1:<https>
jetstream {{ store_dir: "<store>" }}
tls {{ {tls}, verify: true }}
leafnodes {{ listen: 127.0.0.1:<leaf>, tls {{ {tls} }} }}
websocket {{ listen: "127.0.0.1:<websocket>", tls {{ {tls} }} }}
mqtt {{ listen: 127.0.0.1:<mqtt>, tls {{ {tls} }} }}
"""
BACK = """
listen: 127.0.0.1:<client>
server_name: S
cluster {{ name: C, listen: 127.0.0.1:<route>, tls {{ {tls} }} }}
gateway {{ name: C, listen: 127.0.0.1:<gateway>, tls {{ {tls} }} }}
"""
LISTENERS = {FRONT: ("client", "leaf", "websocket", "mqtt", "https"), BACK: ("route", "gateway")}
GREETING = ("client", "leaf")  # these say INFO before TLS


def shown(server: ServerProcess, listener: str, authority: Authority) -> int:
    """Return the serial number of the certificate that a listener shows."""
    context = ssl.create_default_context(cafile=str(authority.file))
    with socket.create_connection(("127.0.0.1", server.ports[listener]), timeout=20) as plain:
        if listener in GREETING:
            plain.recv(65536)
        with context.wrap_socket(plain, server_hostname="127.0.0.1") as secure:
            if listener == "https":  # it asks nobody for a certificate, though `verify` is set
                secure.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
                assert secure.recv(4096).startswith(b"HTTP/1.")
            certificate = secure.getpeercert(binary_form=True)
            assert certificate is not None
            return x509.load_der_x509_certificate(certificate).serial_number


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


def start(launch: Launch, config: str, authority: Authority) -> ServerProcess:
    folder = authority.folder
    tls = f'cert_file: "{folder}/server.pem", key_file: "{folder}/server.key", ca_file: "{folder}/ca.pem"'
    authority.issue("server", 1001)
    return launch(config.format(tls=tls))


def reload(server: ServerProcess, said: str) -> None:
    before = server.log().count(said)
    server.signal(signal.SIGHUP)
    eventually(lambda: server.log().count(said) > before)


def all_shown(server: ServerProcess, config: str, authority: Authority) -> set[int]:
    return {shown(server, listener, authority) for listener in LISTENERS[config]}


@pytest.mark.parametrize("config", LISTENERS, ids=["front", "back"])
def test_all_listeners_show_a_renewed_certificate_after_a_reload(
    launch: Launch, authority: Authority, config: str
) -> None:
    server = start(launch, config, authority)
    assert all_shown(server, config, authority) == {1001}
    authority.issue("server", 1002)
    assert all_shown(server, config, authority) == {1001}
    reload(server, "Reloaded server configuration")
    assert all_shown(server, config, authority) == {1002}


def test_a_certificate_that_cannot_be_used_leaves_the_old_one(launch: Launch, authority: Authority) -> None:
    server = start(launch, FRONT, authority)
    whole = (authority.folder / "server.pem").read_bytes()
    (authority.folder / "server.pem").write_bytes(whole[: len(whole) // 2])
    reload(server, "Failed to reload server configuration")
    assert all_shown(server, FRONT, authority) == {1001}
