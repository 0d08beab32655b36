"""`proxy_protocol: true`: headers of version 1 and 2 before NATS or TLS, and connections without one."""

from __future__ import annotations

import contextlib
import http.client
import ipaddress
import json
import ssl
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lib.process import ServerProcess
from lib.wire import Wire

PEMS = Path(__file__).parent / "pem"
CONFIG = "listen: 127.0.0.1:<client>\nhttp: 127.0.0.1:<http>\nproxy_protocol: true\n"
TLS = f'tls {{ cert_file: "{PEMS}/server.pem", key_file: "{PEMS}/server-key.pem" }}\n'
SIGNATURE = b"\r\n\r\n\x00\r\nQUIT\n"


@pytest.fixture
def server(serve: Callable[[str], ServerProcess]) -> ServerProcess:
    return serve(CONFIG)


def second(command: int = 0x21, family: int = 0x11, addresses: bytes = b"", more: bytes = b"") -> bytes:
    body = addresses + more
    return SIGNATURE + struct.pack("!BBH", command, family, len(body)) + body


def pair(source: str, port: int = 4567) -> bytes:
    packed = ipaddress.ip_address(source).packed
    return packed + packed + struct.pack("!HH", port, 4222)


def peer(server: ServerProcess, wire: Wire) -> tuple[str, int]:
    """Return the address of a connection as monitoring shows it."""
    link = http.client.HTTPConnection("127.0.0.1", server.ports["http"], timeout=20)
    try:
        link.request("GET", f"/connz?cid={wire.info['client_id']}")
        document: dict[str, Any] = json.loads(link.getresponse().read())
    finally:
        link.close()
    (found,) = document["connections"]
    return found["ip"], found["port"]


NAMED: dict[str, tuple[bytes, tuple[str, int]]] = {
    "TCP4": (b"PROXY TCP4 192.0.2.7 10.0.0.1 4567 4222\r\n", ("192.0.2.7", 4567)),
    "TCP6": (b"PROXY TCP6 2001:db8::7 ::1 4567 4222\r\n", ("2001:db8::7", 4567)),
    "TCP6 mapped": (b"PROXY TCP6 ::ffff:192.0.2.7 ::1 4567 4222\r\n", ("192.0.2.7", 4567)),
    "binary IPv4": (second(addresses=pair("192.0.2.7")), ("192.0.2.7", 4567)),
    "binary IPv6": (second(family=0x21, addresses=pair("2001:db8::7")), ("2001:db8::7", 4567)),
    "binary mapped": (second(family=0x21, addresses=pair("::ffff:192.0.2.7")), ("192.0.2.7", 4567)),
    "with more": (second(addresses=pair("192.0.2.7"), more=b"x" * 3000), ("192.0.2.7", 4567)),
}
UNNAMED = {
    "UNKNOWN": b"PROXY UNKNOWN\r\n",
    "UNKNOWN with more": b"PROXY UNKNOWN ffff::1 ffff::2 1 2\r\n",
    "LOCAL": second(0x20, 0x00),
    "LOCAL with addresses": second(0x20, 0x11, pair("192.0.2.7")),
    "unspecified": second(0x21, 0x01),
    "none": b"",
}


@pytest.mark.parametrize("name", NAMED)
def test_a_header_names_the_client(server: ServerProcess, name: str) -> None:
    header, address = NAMED[name]
    with server.raw() as wire:
        assert "client_ip" not in wire.info
        wire.send(header)
        wire.login(protocol=1)
        assert wire.sync() == []
        assert peer(server, wire) == address
        wire.sync()
        assert wire.infos[-1].get("client_ip") == address[0]


@pytest.mark.parametrize("name", UNNAMED)
def test_headers_that_name_nobody(server: ServerProcess, name: str) -> None:
    with server.raw() as wire:
        wire.send(UNNAMED[name])
        wire.login(protocol=1)
        assert wire.sync() == []
        assert peer(server, wire) == wire.sock.getsockname()


def test_a_header_in_pieces_and_with_what_follows(server: ServerProcess) -> None:
    for header, address in NAMED.values():
        with server.raw() as wire:
            for byte in header[:40]:
                wire.send(bytes([byte]))
            wire.send(header[40:] + b'CONNECT {"verbose":false}\r\nPING\r\n')
            assert wire.next() == b"PONG"
            assert peer(server, wire) == address


BROKEN = {
    "no addresses": b"PROXY TCP4\r\n",
    "another protocol": b"PROXY UDP4 192.0.2.7 10.0.0.1 1 2\r\n",
    "a name": b"PROXY TCP4 localhost 10.0.0.1 1 2\r\n",
    "kinds mixed": b"PROXY TCP4 192.0.2.7 ::1 1 2\r\n",
    "wrong kind": b"PROXY TCP6 192.0.2.7 10.0.0.1 1 2\r\n",
    "port": b"PROXY TCP4 192.0.2.7 10.0.0.1 70000 2\r\n",
    "negative port": b"PROXY TCP4 192.0.2.7 10.0.0.1 -1 2\r\n",
    "zone": b"PROXY TCP6 fe80::1%eth0 ::1 1 2\r\n",
    "long": b"PROXY TCP4 192.0.2.7 10.0.0.1 1 2" + b" " * 100 + b"\r\n",
    "version": second(0x31, addresses=pair("192.0.2.7")),
    "command": second(0x22, addresses=pair("192.0.2.7")),
    "datagram": second(family=0x12, addresses=pair("192.0.2.7")),
    "unix": second(family=0x31, addresses=b"x" * 216),
    "short": second(addresses=b"x" * 11),
    "signature": SIGNATURE[:8] + b"XXXX" + second(addresses=pair("192.0.2.7"))[12:],
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_header_ends_the_connection(server: ServerProcess, name: str) -> None:
    with server.raw() as wire:
        wire.send(BROKEN[name])
        with contextlib.suppress(ConnectionResetError):
            assert wire.ends() == []


@pytest.mark.parametrize("more", ["", "allow_non_tls: true\n"])
def test_the_header_stands_before_tls(serve: Callable[[str], ServerProcess], more: str) -> None:
    server = serve(CONFIG + TLS + more)
    context = ssl.create_default_context(cafile=str(PEMS / "ca.pem"))
    with server.raw() as wire:
        wire.send(NAMED["TCP4"][0])
        wire.sock = context.wrap_socket(wire.sock, server_hostname="localhost")
        wire.login()
        assert wire.sync() == []
        assert peer(server, wire) == NAMED["TCP4"][1]
    if more:
        with server.raw() as wire:
            wire.send(NAMED["TCP4"][0])
            wire.login()
            assert wire.sync() == []


def test_without_the_option_it_is_no_header(serve: Callable[[str], ServerProcess]) -> None:
    server = serve(CONFIG.replace("true", "false"))
    with server.raw() as wire:
        assert wire.info["client_ip"] == "127.0.0.1"
        wire.send(NAMED["TCP4"][0])
        assert wire.ends()[:1] == [b"-ERR 'Unknown Protocol Operation'"]
