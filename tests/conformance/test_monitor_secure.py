"""TLS in monitoring: certificates, and the version and cipher of each connection."""

from __future__ import annotations

import datetime
import hashlib
import http.client
import json
import socket
import ssl
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lib.eventually import eventually
from lib.process import ServerProcess

CONFIG = """
listen: 127.0.0.1:<client>
server_name: S
http: 127.0.0.1:<http>
{blocks}
"""
TLS = 'tls {{ cert_file: "{0}/server.pem", key_file: "{0}/server.key", ca_file: "{0}/ca.pem", verify: true }}'


def openssl(*words: str) -> None:
    subprocess.run(["openssl", *words], check=True, capture_output=True)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """ca.pem, and server and client, signed by it, as .pem and .key."""
    folder = tmp_path_factory.mktemp("certificates")
    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    ca = ("-keyout", f"{folder}/ca.key", "-out", f"{folder}/ca.pem", "-days", "40", "-subj", "/CN=Authority")
    openssl("req", "-x509", *curve, *ca)
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1\n")
    for name, subject in (("server", "/CN=server"), ("client", "/C=CH/O=Ex, ample/OU=one+OU=two/CN=me")):
        key, request, out = (f"{folder}/{name}.{kind}" for kind in ("key", "csr", "pem"))
        openssl("req", *curve, "-keyout", key, "-out", request, "-subj", subject, "-multivalue-rdn")
        by = ("-CA", f"{folder}/ca.pem", "-CAkey", f"{folder}/ca.key", "-days", "30")
        openssl("x509", "-req", "-in", request, *by, "-extfile", f"{folder}/names", "-out", out)
    return folder


def fetch(server: ServerProcess, path: str) -> dict[str, Any]:
    link = http.client.HTTPConnection("127.0.0.1", server.ports["http"], timeout=20)
    try:
        link.request("GET", path)
        found: dict[str, Any] = json.loads(link.getresponse().read())
        return found
    finally:
        link.close()


def end_of(certificate: Path) -> str:
    """When a certificate ends, as monitoring writes it."""
    received = ssl._ssl._test_decode_cert(str(certificate))["notAfter"]  # type: ignore[attr-defined]
    seconds = ssl.cert_time_to_seconds(received)
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.mark.parametrize(
    ("version", "suite"),
    [("1.3", ""), ("1.2", "ECDHE-ECDSA-AES256-GCM-SHA384"), ("1.2", "ECDHE-ECDSA-CHACHA20-POLY1305")],
)
def test_a_connection(
    serve: Callable[[str], ServerProcess], certificates: Path, version: str, suite: str
) -> None:
    server = serve(CONFIG.format(blocks=TLS.format(certificates)))
    context = ssl.create_default_context(cafile=str(certificates / "ca.pem"))
    context.load_cert_chain(certificates / "client.pem", certificates / "client.key")
    number = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}[version]
    context.minimum_version = context.maximum_version = number
    if suite:
        context.set_ciphers(suite)
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as plain:
        plain.recv(4096)
        with context.wrap_socket(plain, server_hostname="127.0.0.1") as sock:
            sock.sendall(b'CONNECT {"verbose":false,"pedantic":false,"tls_required":true}\r\nPING\r\n')
            while b"PONG" not in sock.recv(4096):
                pass
            (received,) = fetch(server, "/connz?auth=1")["connections"]
            (bare,) = fetch(server, "/connz")["connections"]
    assert received["tls_version"] == version
    if suite:
        name = suite.replace("AES256", "AES_256").replace("-", "_").replace("ECDSA_", "ECDSA_WITH_")
        assert received["tls_cipher_suite"] == "TLS_" + name + ("_SHA256" if "CHACHA" in suite else "")
    else:
        assert received["tls_cipher_suite"].startswith("TLS_AES_")
    peer = received["tls_peer_certs"][0]  # the reference lists the rest of the chain, too
    assert peer["subject"] in (
        "CN=me,OU=two+OU=one,O=Ex\\, ample,C=CH",
        "CN=me,OU=one+OU=two,O=Ex\\, ample,C=CH",
    )
    der = ssl.PEM_cert_to_DER_cert((certificates / "client.pem").read_text())
    assert peer["cert_sha256"] == hashlib.sha256(der).hexdigest()
    assert len(peer["spki_sha256"]) == 64
    assert "tls_peer_certs" not in bare
    assert bare["tls_version"] == version


def test_when_certificates_end(serve: Callable[[str], ServerProcess], certificates: Path) -> None:
    tls = TLS.format(certificates)
    blocks = f"{tls}\ncluster {{ name: c, listen: 127.0.0.1:<route>, {tls} }}\n"
    blocks += f"leafnodes {{ listen: 127.0.0.1:<leaf>, {tls} }}"
    received = fetch(serve(CONFIG.format(blocks=blocks)), "/varz")
    end = end_of(certificates / "server.pem")
    for block in (received, received["cluster"], received["leaf"]):
        assert block["tls_cert_not_after"] == end
        assert (block["tls_required"], block["tls_verify"]) == (True, True)


def test_a_server_without_tls_says_nothing_of_it(serve: Callable[[str], ServerProcess]) -> None:
    server = serve(CONFIG.format(blocks=""))
    assert "tls_cert_not_after" not in fetch(server, "/varz")
    with server.connect():
        eventually(lambda: fetch(server, "/connz?auth=1")["connections"])
        assert "tls_version" not in fetch(server, "/connz?auth=1")["connections"][0]
