"""`ocsp_peer`: whether a client may connect as far as the authority of its certificate says."""

from __future__ import annotations

import datetime
import json
import socket
import ssl
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from lib.certificates import Authority
from lib.ocsp_responder import GOOD, REVOKED, UNKNOWN, Responder, responder_of
from lib.process import ServerProcess

CONFIG = """
listen: 127.0.0.1:<client>
server_name: S
http: 127.0.0.1:<http>
jetstream {{ store_dir: "<store>" }}
tls {{ {tls} }}
leafnodes {{ listen: 127.0.0.1:<leaf>, tls {{ {tls} }} }}
websocket {{ listen: "127.0.0.1:<websocket>", tls {{ {tls} }} }}
mqtt {{ listen: 127.0.0.1:<mqtt>, tls {{ {tls} }} }}
ocsp_cache: {cache}
"""
FILES = 'cert_file: "{0}/server.pem", key_file: "{0}/server.key", ca_file: "{0}/ca.pem", verify: true'
UPGRADE = (
    b"GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)
PING = b'CONNECT {"verbose":false}\r\nPING\r\n'
MASKED = b"\x82" + bytes([0x80 | len(PING)]) + bytes(4) + PING
MQTT_CONNECT = b"\x10\x0d\x00\x04MQTT\x04\x02\x00\x00\x00\x01a"
LEAF = b'CONNECT {"server_id":"NL","name":"L","cluster":"L","headers":true,"protocol":3}\r\nPING\r\n'
# What a peer sends, and what shows that it was served.
LISTENERS = {
    "client": (PING, b"PONG"),
    "leaf": (LEAF, b"PONG"),
    "websocket": (MASKED, b"PONG"),
    "mqtt": (MQTT_CONNECT, b"\x20\x02\x00\x00"),
}
Launch = Callable[[str], ServerProcess]


@pytest.fixture
def responder(tmp_path: Path) -> Iterator[Responder]:
    authority = Authority(tmp_path)
    authority.issue("server", 7)
    with responder_of(authority) as found:
        yield found


def start(
    launch: Launch, responder: Responder, ocsp_peer: str = "true", cache: str = "false"
) -> ServerProcess:
    tls = f"{FILES.format(responder.authority.folder)}, ocsp_peer: {ocsp_peer}"
    return launch(CONFIG.format(tls=tls, cache=cache))


def enters(server: ServerProcess, responder: Responder, name: str, listener: str = "client") -> bool:
    """Whether somebody with this certificate is served."""
    folder = responder.authority.folder
    context = ssl.create_default_context(cafile=str(responder.authority.file))
    context.load_cert_chain(folder / f"{name}.pem", folder / f"{name}.key")
    says, served = LISTENERS[listener]
    heard = b""
    try:
        with socket.create_connection(("127.0.0.1", server.ports[listener]), timeout=20) as plain:
            if listener in ("client", "leaf"):
                plain.recv(65536)
            with context.wrap_socket(plain, server_hostname="127.0.0.1") as sock:
                if listener == "websocket":
                    sock.sendall(UPGRADE)
                    sock.recv(65536)
                sock.sendall(says)
                while served not in heard and (data := sock.recv(65536)):
                    heard += data
    except OSError:
        pass
    return served in heard


def varz(server: ServerProcess) -> dict[str, Any]:
    with urllib.request.urlopen(f"http://127.0.0.1:{server.ports['http']}/varz", timeout=20) as answer:
        found: dict[str, Any] = json.load(answer)
        return found


@pytest.mark.parametrize("listener", LISTENERS)
def test_who_is_good_enters_and_who_is_revoked_does_not(
    launch: Launch, responder: Responder, listener: str
) -> None:
    responder.issue("good", 21, GOOD)
    responder.issue("revoked", 22, REVOKED)
    server = start(launch, responder)
    assert enters(server, responder, "good", listener)
    assert not enters(server, responder, "revoked", listener)
    assert responder.asked == [21, 22]
    assert varz(server)["tls_ocsp_peer_verify"] is True
    assert [varz(server)[block]["tls_ocsp_peer_verify"] for block in ("leaf", "websocket", "mqtt")] == [
        True
    ] * 3


@pytest.mark.parametrize(
    ("status", "rule", "expected"),
    [
        (UNKNOWN, "", False),
        (UNKNOWN, "unknown_is_good: true", True),
        (REVOKED, "unknown_is_good: true, allow_when_ca_unreachable: true", False),
        (REVOKED, "warn_only: true", True),
    ],
)
def test_rules(launch: Launch, responder: Responder, status: str, rule: str, expected: bool) -> None:
    responder.issue("peer", 21, status)  # type: ignore[arg-type]
    server = start(launch, responder, f"{{ verify: true, {rule} }}")
    assert enters(server, responder, "peer") is expected


@pytest.mark.parametrize("rule", ["", "allow_when_ca_unreachable: true", "verify: false"])
def test_nobody_can_be_asked(launch: Launch, responder: Responder, rule: str) -> None:
    port, responder.port = responder.port, 1
    responder.issue("peer", 21, GOOD)
    responder.port = port
    given = rule if rule.startswith("verify") else f"verify: true, {rule}"
    server = start(launch, responder, f"{{ {given} }}")
    assert enters(server, responder, "peer") is bool(rule)


def test_who_names_no_responder_enters(launch: Launch, responder: Responder) -> None:
    responder.authority.issue("plain", 21)
    assert enters(start(launch, responder), responder, "plain")
    assert responder.asked == []


def test_an_answer_that_another_has_signed(launch: Launch, responder: Responder, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    responder.issue("peer", 21, GOOD)
    responder.signer = Authority(tmp_path / "other")
    assert not enters(start(launch, responder), responder, "peer")


@pytest.mark.parametrize("hours", [2, -2])
def test_an_answer_of_another_time(launch: Launch, responder: Responder, hours: int) -> None:
    responder.issue("peer", 21, GOOD)
    responder.age = datetime.timedelta(hours=hours)
    assert not enters(start(launch, responder), responder, "peer")


def test_an_answer_is_kept_while_it_counts(launch: Launch, responder: Responder) -> None:
    responder.issue("peer", 21, GOOD)
    server = start(launch, responder, cache="true")
    assert [enters(server, responder, "peer") for _ in range(3)] == [True] * 3
    assert responder.asked == [21]


def test_it_needs_certificates_of_peers(launch: Launch, responder: Responder) -> None:
    tls = FILES.format(responder.authority.folder).replace(", verify: true", "")
    with pytest.raises(RuntimeError, match="requires TLS verify"):
        launch(f"listen: 127.0.0.1:<client>\ntls {{ {tls}, ocsp_peer: true }}\n")
