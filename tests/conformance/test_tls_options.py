"""TLS of the listener for clients: several certificates, a limit of handshakes, versions and ciphers."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from pathlib import Path

import pytest
from lib.process import ServerProcess
from lib.wire import Wire

PEMS = Path(__file__).parent / "pem"
PAIR = '{{ cert_file: "{pems}/{name}.pem", key_file: "{pems}/{name}-key.pem" }}'
SERVER = f'cert_file: "{PEMS}/server.pem", key_file: "{PEMS}/server-key.pem"'
Serve = Callable[[str], ServerProcess]


def config(tls: str, more: str = "") -> str:
    return f"listen: 127.0.0.1:<client>\ntls {{ {tls} }}\n{more}\n"


def context(name: str = "") -> ssl.SSLContext:
    made = ssl.create_default_context(cafile=str(PEMS / "ca.pem"))
    made.check_hostname = False
    if name:
        made.load_cert_chain(PEMS / f"{name}.pem", PEMS / f"{name}-key.pem")
    return made


def shown(server: ServerProcess, host: str | None, with_context: ssl.SSLContext | None = None) -> str:
    """Return the common name of the certificate that the server shows for a host."""
    wire = server.raw()
    secure = (with_context or context()).wrap_socket(wire.sock, server_hostname=host)
    wire.sock = secure
    with wire:
        wire.login()
        assert wire.sync() == []
        certificate = secure.getpeercert()
        assert certificate is not None
        return str(dict(part[0] for part in certificate["subject"])["commonName"])  # type: ignore[misc]


CERTS = ", ".join(PAIR.format(pems=PEMS, name=name) for name in ("server", "one", "two"))


@pytest.mark.parametrize(
    ("host", "name"),
    [
        (None, "server"),
        ("localhost", "server"),
        ("one.example.com", "one"),
        ("ONE.example.com", "one"),
        ("two.example.com", "two"),
        ("a.two.example.com", "two"),
        ("a.b.two.example.com", "server"),
        ("unknown.example.com", "server"),
    ],
)
def test_certificates_by_the_name_of_the_server(serve: Serve, host: str | None, name: str) -> None:
    assert shown(serve(config(f"certs: [{CERTS}]")), host) == name


def test_clients_are_verified_whatever_certificate_is_shown(serve: Serve) -> None:
    server = serve(config(f'certs: [{CERTS}], ca_file: "{PEMS}/ca.pem", verify: true'))
    assert shown(server, "one.example.com", context("names")) == "one"
    with pytest.raises((OSError, EOFError)):
        shown(server, "one.example.com")


def test_handshakes_are_limited(launch: Callable[[str], ServerProcess]) -> None:
    server = launch(config(f"{SERVER}, connection_rate_limit: 3, timeout: 10"))
    opened = [Wire(server.port) for _ in range(40)]
    throttled = 0
    for wire in opened:
        wire.sock.settimeout(0.05)
        try:
            said = wire.next()
            assert said == b"-ERR 'Connection throttling is active. Please try again later.'"
            throttled += 1
        except TimeoutError:
            pass
        wire.close()
    assert 20 <= throttled < 40


@pytest.mark.parametrize(
    ("options", "client", "enters"),
    [
        ('min_version: "1.3"', ssl.TLSVersion.TLSv1_2, False),
        ('min_version: "1.3"', ssl.TLSVersion.TLSv1_3, True),
        ('min_version: "1.2"', ssl.TLSVersion.TLSv1_2, True),
        ('cipher_suites: ["TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"]', ssl.TLSVersion.TLSv1_2, True),
        ('cipher_suites: ["TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"]', ssl.TLSVersion.TLSv1_2, False),
    ],
)
def test_versions_and_ciphers(serve: Serve, options: str, client: ssl.TLSVersion, enters: bool) -> None:
    with_context = context()
    with_context.maximum_version = client
    server = serve(config(f"{SERVER}, {options}"))
    if enters:
        assert shown(server, None, with_context) == "server"
    else:
        with pytest.raises((OSError, EOFError)):
            shown(server, None, with_context)
