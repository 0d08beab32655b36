"""Who logs in by MQTT, and how: users, tokens, accounts, permissions, JWTs, TLS, WebSocket, monitoring."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lib import mqtt
from lib.eventually import eventually
from lib.mqtt import MQTTClient, Packet, Publish, connect, packet, publish
from lib.operator_fixture import OperatorEnv
from lib.process import ServerProcess
from lib.web_socket import BINARY, WebSocket, frame

PEMS = Path(__file__).parents[1] / "server" / "config" / "pem"
CERTIFICATE = f'tls {{ cert_file: "{PEMS}/server.pem", key_file: "{PEMS}/server-key.pem" }}'
CONFIG = """
listen: 127.0.0.1:<client>
http: 127.0.0.1:<http>
server_name: S
jetstream {{ store_dir: "<store>", max_mem: 100MB, max_file: 100MB }}
mqtt {{ listen: 127.0.0.1:<mqtt>, {mqtt} }}
{more}
"""
USERS = """
accounts {
  A { jetstream: enabled, users: [
    { user: ann, password: pwd }
    { user: device, password: pwd, allowed_connection_types: [MQTT] }
    { user: plain, password: pwd, allowed_connection_types: [STANDARD] }
    { user: limited, password: pwd, permissions: {
      publish: ["out.>"], subscribe: { allow: ["in.>"], deny: "in.no" }
    } }
    { user: guest, password: "" }
  ] }
  B { jetstream: enabled, users: [ { user: ben, password: pwd } ] }
  C { users: [ { user: cem, password: pwd } ] }
}
"""
Serve = Callable[[str], ServerProcess]
OK, REFUSED = bytes((0, 0)), bytes((0, 5))


def config(mqtt: str = "", more: str = "") -> str:
    return CONFIG.format(mqtt=mqtt, more=more)


def login(server: ServerProcess, user: str | None = None, password: str | None = None) -> bytes:
    """Return what CONNACK says."""
    with MQTTClient(server.ports["mqtt"]) as client:
        client.send(connect("x", user=user, password=password))
        return client.read().body


def document(server: ServerProcess, path: str) -> dict[str, Any]:
    link = http.client.HTTPConnection("127.0.0.1", server.ports["http"], timeout=20)
    try:
        link.request("GET", path)
        found: dict[str, Any] = json.loads(link.getresponse().read())
        return found
    finally:
        link.close()


@pytest.mark.parametrize(
    ("user", "password", "answer"),
    [
        ("ann", "pwd", OK),
        ("ann", "no", REFUSED),
        ("device", "pwd", OK),
        ("plain", "pwd", REFUSED),
        ("nobody", "pwd", REFUSED),
        (None, None, REFUSED),
    ],
)
def test_users(serve: Serve, user: str | None, password: str | None, answer: bytes) -> None:
    assert login(serve(config(more=USERS)), user, password) == answer


def test_users_of_the_listener(serve: Serve) -> None:
    server = serve(config("authorization { user: u, password: p, timeout: 3 }"))
    assert login(server, "u", "p") == OK
    assert login(server, "u", "x") == REFUSED
    assert login(server) == REFUSED
    with server.connect() as nats:
        nats.sync()


def test_a_token(serve: Serve) -> None:
    server = serve(config("authorization { token: secret }"))
    assert login(server, "any", "secret") == OK
    assert login(server, "any", "x") == REFUSED


def test_no_auth_user(serve: Serve) -> None:
    server = serve(config("no_auth_user: guest", USERS))
    assert login(server) == OK
    assert login(server, "ann", "x") == REFUSED


def test_a_client_that_must_log_in_has_little_time(launch: Serve) -> None:
    server = launch(config("authorization { user: u, password: p, timeout: 0.2 }"))
    with MQTTClient(server.ports["mqtt"]) as client:
        client.send(connect("x")[:5])
        assert client.closed()


def test_accounts_are_apart(serve: Serve) -> None:
    port = serve(config(more=USERS)).ports["mqtt"]
    ann = MQTTClient.joined(port, "same", user="ann", password="pwd")
    ben = MQTTClient.joined(port, "same", user="ben", password="pwd")
    with ann, ben, MQTTClient.joined(port, user="device", password="pwd") as sender:
        assert ann.subscribe(("a", 1)) == [1]
        assert ben.subscribe(("a", 1)) == [1]
        sender.publish("a", b"x", 1)
        assert ann.message().payload == b"x"
        ben.flush()


def test_an_account_without_jetstream(serve: Serve) -> None:
    with MQTTClient(serve(config(more=USERS)).ports["mqtt"]) as client:
        client.send(connect("x", user="cem", password="pwd"))
        assert client.closed()


def test_permissions(serve: Serve) -> None:
    port = serve(config(more=USERS)).ports["mqtt"]
    limited = MQTTClient.joined(port, user="limited", password="pwd")
    with limited, MQTTClient.joined(port, user="ann", password="pwd") as ann:
        assert limited.subscribe(("other", 0), ("in/#", 0), ("in/+", 1)) == [0x80, 0x80, 1]
        assert ann.subscribe(("#", 0)) == [0]
        limited.publish("no", b"x", 1)  # is acknowledged, and goes nowhere
        limited.publish("out/a", b"y", 1, 2, flags=1)
        assert ann.message() == Publish("out/a", b"y")
        ann.send(publish("in/no", b"1", 1, 1), publish("in/yes", b"2", 1, 2))
        assert limited.message()[:3] == ("in/yes", b"2", 1)


def test_a_reload_changes_permissions(launch: Serve) -> None:
    server = launch(config(more=USERS))
    port = server.ports["mqtt"]
    with (
        MQTTClient.joined(port, user="ann", password="pwd") as ann,
        MQTTClient.joined(port, user="device", password="pwd") as other,
    ):
        assert ann.subscribe(("a", 0)) == [0]
        server.configure(
            config(more=USERS.replace("{ user: ann, password: pwd }", "{ user: ann, password: other }"))
        )
        server.signal(signal.SIGHUP)
        with pytest.raises(EOFError):
            while True:
                ann.read()  # nats-server sends a second CONNACK
        other.flush()


def test_operator_mode(launch: Serve) -> None:
    env = OperatorEnv()
    account = env.account("A", jetstream=True)
    bearer, signed = account.user("u", bearer_token=True), account.user("v")
    server = launch(env.config("MEMORY", account, more=config()))
    assert login(server, "any", bearer.token) == OK
    assert login(server, "any", signed.token) == REFUSED
    assert login(server, "any", "x") == REFUSED
    assert login(server) == REFUSED


def test_tls(serve: Serve) -> None:
    server = serve(config(CERTIFICATE))
    context = ssl.create_default_context(cafile=PEMS / "ca.pem")
    plain = socket.create_connection(("127.0.0.1", server.ports["mqtt"]), timeout=20)
    with MQTTClient(0, context.wrap_socket(plain, server_hostname="localhost")) as client:
        client.send(connect("x"))
        assert client.read() == Packet(mqtt.CONNACK, 0, OK)
        client.flush()
    with MQTTClient(server.ports["mqtt"]) as client:
        client.send(connect("x") + bytes(20))
        with pytest.raises((EOFError, AssertionError)):  # an alert of TLS, or nothing
            client.message()


def test_over_websocket(serve: Serve) -> None:
    server = serve(config(more="websocket { listen: 127.0.0.1:<ws>, no_tls: true, compression: true }"))
    client = WebSocket(server.ports["ws"])
    answer = client.upgrade("/mqtt", sec_websocket_protocol="mqtt")
    assert answer.status == 101
    assert answer.headers["sec-websocket-protocol"] == "mqtt"
    raw = connect("w") + mqtt.subscribe(1, ("a", 0)) + publish("a", b"x" * 100)
    client.send(frame(BINARY, raw[:7]) + frame(BINARY, raw[7:]))
    data = b""
    while len(data) < 4 + 5 + 2 + 3 + 100:
        data += client.frame().payload
    assert data == b"\x20\x02\0\0" + b"\x90\x03\0\1\0" + publish("a", b"x" * 100)
    found = document(server, "/connz")["connections"][-1]
    assert (found["type"], found["mqtt_client"]) == ("mqtt", "w")
    client.close()


def test_monitoring(serve: Serve) -> None:
    server = serve(config('ack_wait: "10s", max_ack_pending: 5, no_auth_user: guest', USERS))
    port = server.ports["mqtt"]
    assert document(server, "/varz")["mqtt"] == {
        "host": "127.0.0.1",
        "port": port,
        "no_auth_user": "guest",
        "tls_timeout": 2,
        "ack_wait": 10_000_000_000,
        "max_ack_pending": 5,
    }
    with MQTTClient.joined(port, "me", user="ann", password="pwd") as client:
        client.publish("a", b"12345")
        found = document(server, "/connz?mqtt_client=me&auth=1")["connections"]
        assert [(one["type"], one["mqtt_client"], one["authorized_user"]) for one in found] == [
            ("mqtt", "me", "ann")
        ]
        assert found[0]["in_msgs"] == 1
        assert document(server, "/connz?mqtt_client=you")["connections"] == []
        client.send(packet(mqtt.DISCONNECT))
        eventually(lambda: document(server, "/connz?state=closed&mqtt_client=me")["connections"] != [])


SHARED = """
accounts {
  A {
    jetstream: enabled, users: [ { user: ann, password: pwd } ], mappings: { "old.*": "new.$1", "lost.>": [] }
    exports: [ { stream: "news.>" }, { service: "help" } ]
  }
  B {
    jetstream: enabled, users: [ { user: ben, password: pwd } ]
    imports: [
      { stream: { account: A, subject: "news.>" }, prefix: "from" }
      { service: { account: A, subject: help } }
    ]
  }
}
"""


def test_imports(serve: Serve) -> None:
    server = serve(config(more=SHARED))
    port = server.ports["mqtt"]
    ann = MQTTClient.joined(port, user="ann", password="pwd")
    with ann, MQTTClient.joined(port, user="ben", password="pwd") as ben:
        assert ben.subscribe(("from/#", 0)) == [0]
        ann.publish("news/today", b"x", 1)
        assert ben.message() == Publish("from/news/today", b"x")
        with server.connect(user="ann", **{"pass": "pwd"}) as nats:
            nats.sub("help", "1")
            nats.sync()
            ben.publish("help", b"me")
            assert nats.msg().body == b"me"


def test_mappings(serve: Serve) -> None:
    server = serve(config(more=SHARED))
    with MQTTClient.joined(server.ports["mqtt"], user="ann", password="pwd") as ann:
        assert ann.subscribe(("old/#", 2), ("new/#", 2)) == [2, 2]
        for qos in (0, 1, 2):
            ann.send(publish("old/x", b"%d" % qos, qos, qos + 1))
            if qos == 2:
                while ann.read().kind != mqtt.PUBREC:
                    pass
                ann.send(mqtt.answer(mqtt.PUBREL, 3))
        found: set[tuple[str, bytes]] = set()
        while len(found) < 1:
            one = ann.read()
            if one.kind == mqtt.PUBLISH and one.flags >> 1 & 3 == 2:
                ann.unread.append(one)
                found.add(ann.message()[:2])
        assert found == {("new/x", b"2")}


def test_imports_with_qos(serve: Serve, implementation: str) -> None:
    port = serve(config(more=SHARED)).ports["mqtt"]
    ann = MQTTClient.joined(port, user="ann", password="pwd")
    with ann, MQTTClient.joined(port, user="ben", password="pwd") as ben:
        assert ben.subscribe(("from/#", 1)) == [1]
        ann.publish("news/today", b"kept", 1)
        ann.publish("news/today", b"live", 0)
        found = ben.message()
        assert found == Publish("from/news/today", b"kept" if implementation == "pyjs" else b"live")


def test_events(serve: Serve) -> None:
    system = "SYS: { users: [ { user: admin, password: admin } ] } }\nsystem_account: SYS\n"
    server = serve(config(more=USERS.rstrip().removesuffix("}") + system))
    with server.connect(user="admin", **{"pass": "admin"}) as nats:
        nats.sub("$SYS.ACCOUNT.A.*", "1")
        nats.sync()
        MQTTClient.joined(server.ports["mqtt"], "me", user="ann", password="pwd").disconnect()
        found: dict[str, Any] = {}
        while len(found) < 2:
            one = nats.msg()
            kind = one.subject.rpartition(".")[2]
            if kind in ("CONNECT", "DISCONNECT"):
                found[kind] = one.json()
        for event in found.values():
            client = event["client"]
            assert (client["kind"], client["client_type"], client["client_id"]) == ("Client", "mqtt", "me")
            assert (client["acc"], client["user"]) == ("A", "ann")
        assert found["DISCONNECT"]["reason"] == "Client Closed"
