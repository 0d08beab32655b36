"""Users from certificates (`verify_and_map`): which names count, on which listeners, and the passwords."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest
from lib.eventually import eventually
from lib.mqtt import MQTTClient, connect
from lib.process import ServerProcess
from lib.web_socket import WebSocket
from lib.wire import Wire

PEMS = Path(__file__).parent / "pem"
TLS = (
    f'tls {{ cert_file: "{PEMS}/server.pem", key_file: "{PEMS}/server-key.pem", '
    f'ca_file: "{PEMS}/ca.pem", %s: true }}'
)
CONFIG = """
listen: 127.0.0.1:<client>
server_name: S
{tls}
accounts {{ A {{ users: [{users}] }} }}
{more}
"""
VIOLATION = [b"-ERR 'Authorization Violation'"]
Serve = Callable[[str], ServerProcess]


def config(*users: str, tls: str = TLS % "verify_and_map", more: str = "") -> str:
    rows = ", ".join(user if user.startswith("{") else f"{{ user: '{user}' }}" for user in users)
    return CONFIG.format(tls=tls, users=rows, more=more)


def context(name: str = "") -> ssl.SSLContext:
    made = ssl.create_default_context(cafile=str(PEMS / "ca.pem"))
    made.check_hostname = False
    if name:
        made.load_cert_chain(PEMS / f"{name}.pem", PEMS / f"{name}-key.pem")
    return made


def secured(server: ServerProcess, name: str) -> Wire:
    """Return a connection that has shown a certificate and sent nothing."""
    wire = server.raw()
    assert wire.info["tls_verify"] is True
    wire.sock = context(name).wrap_socket(wire.sock)
    return wire


def user_of(server: ServerProcess, certificate: str, **connect: str) -> str:
    """Return the user that a client with a certificate becomes, "" if it is refused."""
    with secured(server, certificate) as wire:
        wire.login(**connect)
        wire.send("PING\r\n")
        if (said := wire.next()) != b"PONG":
            assert [said] == VIOLATION
            return ""
        return str(wire.request("$SYS.REQ.USER.INFO").json()["data"]["user"])


@pytest.mark.parametrize(
    ("certificate", "user"),
    [
        ("names", "ann@example.com"),
        ("names", "app.example.com"),
        ("names", "spiffe://example.com/app"),
        ("names", "CN=ann,OU=Ship,O=Orders"),
        ("names", "O=Orders, OU=Ship, cn=ann"),
        ("names", "CN=ann"),
        ("names", "ann"),
        ("names", "CN=ANN,OU=Ship,O=Orders"),
        ("subject", "OU=Ship+CN=bob,O=Orders,DC=example,DC=com"),
        ("subject", "DC=com,DC=example,O=Orders,CN=bob+OU=Ship"),
        ("subject", "CN=bob,OU=Ship,O=Orders"),
        ("subject", "CN=bob,OU=Ship,O=Orders,DC=com,DC=example"),
        ("subject", "OU=Ship,CN=bob,O=Orders,DC=example,DC=com"),
        ("plain", "CN=eve,OU=Ship,O=Orders\\, Ltd,C=DE"),
        ("plain", "CN=eve,OU=Ship,O=Orders\\2c Ltd,C=DE"),
        ("plain", "CN=eve,OU=Ship,O=Orders, Ltd,C=DE"),
    ],
)
def test_names_of_a_certificate(serve: Serve, certificate: str, user: str) -> None:
    found = user_of(serve(config(user)), certificate)
    strange = {"CN=ann", "ann", "CN=ANN,OU=Ship,O=Orders", "OU=Ship,CN=bob,O=Orders,DC=example,DC=com"}
    strange |= {"CN=eve,OU=Ship,O=Orders, Ltd,C=DE"}
    assert found == ("" if user in strange else user)


def test_the_order_of_names(serve: Serve) -> None:
    names = ["CN=ann,OU=Ship,O=Orders", "spiffe://example.com/app", "app.example.com", "ann@example.com"]
    for count in range(1, 5):
        assert user_of(serve(config(*names[:count])), "names") == names[count - 1]


def test_a_name_for_another_kind_of_connection_is_passed_over(serve: Serve) -> None:
    elsewhere = '{ user: "ann@example.com", allowed_connection_types: [WEBSOCKET] }'
    assert user_of(serve(config(elsewhere, "app.example.com")), "names") == "app.example.com"
    assert user_of(serve(config(elsewhere)), "names") == ""


def test_a_name_in_connect_does_not_count(serve: Serve) -> None:
    server = serve(config("app.example.com", "{ user: boss, password: pwd }"))
    assert user_of(server, "names", user="boss", **{"pass": "pwd"}) == ""
    assert user_of(server, "names", user="boss") == "app.example.com"


def test_a_password_is_needed_too(serve: Serve) -> None:
    server = serve(config('{ user: "app.example.com", password: pwd }'))
    assert user_of(server, "names") == ""
    assert user_of(server, "names", **{"pass": "pwd"}) == "app.example.com"


def test_without_a_certificate_there_is_no_handshake(serve: Serve) -> None:
    with secured(serve(config("app.example.com")), "") as wire:
        try:
            wire.login()
            wire.send("PING\r\n")
            assert wire.ends() == []
        except (OSError, ssl.SSLError):
            pass


def test_a_client_without_tls_is_nobody(serve: Serve) -> None:
    server = serve(config("app.example.com", more="allow_non_tls: true"))
    with server.raw() as wire:
        wire.login(user="app.example.com")
        assert wire.ends() == VIOLATION


WEBSOCKET = f"websocket {{ listen: 127.0.0.1:<ws>, {TLS % 'verify_and_map'} }}"


def test_a_websocket_client(serve: Serve) -> None:
    server = serve(config("app.example.com", "{ user: x, password: y }", tls="", more=WEBSOCKET))
    for name, said in (("names", b"PONG"), ("plain", VIOLATION[0])):
        client = WebSocket(server.ports["ws"], context(name))
        assert client.upgrade().status == 101
        client.info()
        client.nats('CONNECT {"verbose":false}\r\nPING\r\n')
        assert client.line() == said
        client.close()


def test_a_user_of_certificates_has_no_empty_password_elsewhere(serve: Serve) -> None:
    server = serve(config("app.example.com", "{ user: x, password: y }", tls="", more=WEBSOCKET))
    with server.raw() as wire:
        wire.login(user="app.example.com")
        assert wire.ends() == VIOLATION


LEAF = f"leafnodes {{ listen: 127.0.0.1:<leaf>, {TLS % 'verify_and_map'} %s }}"
SPOKE = """
listen: 127.0.0.1:<client>
server_name: spoke
leafnodes {{ reconnect: 1, remotes: [{{
  url: "tls://localhost:{port}"
  tls {{ cert_file: "{pems}/names.pem", key_file: "{pems}/names-key.pem", ca_file: "{pems}/ca.pem" }}
}}] }}
"""


@pytest.mark.parametrize("own", ["", ', authorization { users: [{ user: "app.example.com", account: A }] }'])
def test_a_leaf_node(serve: Serve, launch: Callable[[str], ServerProcess], own: str) -> None:
    users = ["{ user: x, password: y }"] + ([] if own else ["app.example.com"])
    hub = serve(config(*users, tls="", more=LEAF % own))
    spoke = launch(SPOKE.format(port=hub.ports["leaf"], pems=PEMS))
    with hub.connect(user="x", **{"pass": "y"}) as wire, spoke.connect() as other:
        wire.sub("across")
        wire.sync()

        def crosses() -> bool:
            other.pub("across", "x")
            other.sync()
            return bool(wire.sync())

        eventually(crosses)


def test_an_mqtt_client(serve: Serve) -> None:
    more = (
        f'jetstream {{ store_dir: "<store>" }}\nmqtt {{ listen: 127.0.0.1:<mqtt>, {TLS % "verify_and_map"} }}'
    )
    text = config("app.example.com", tls="", more=more).replace("A { users", "A { jetstream: enabled, users")
    server = serve(text)
    for name, code in (("names", 0), ("plain", 5)):
        plain = socket.create_connection(("127.0.0.1", server.ports["mqtt"]), timeout=20)
        with MQTTClient(0, context(name).wrap_socket(plain)) as client:
            client.send(connect("x"))
            assert client.read().body == bytes((0, code))
