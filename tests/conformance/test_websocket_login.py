"""Who logs in over WebSocket, and how: cookies, users of the listener, TLS, monitoring."""

from __future__ import annotations

import http.client
import json
import signal
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lib.eventually import eventually
from lib.operator_fixture import OperatorEnv
from lib.process import ServerProcess
from lib.web_socket import BINARY, PING, WebSocket, frame

PEMS = Path(__file__).parents[1] / "server" / "config" / "pem"
CERTIFICATE = f'tls {{ cert_file: "{PEMS}/server.pem", key_file: "{PEMS}/server-key.pem" }}'
CONFIG = """
listen: 127.0.0.1:<client>
http: 127.0.0.1:<http>
server_name: S
websocket {{ listen: 127.0.0.1:<ws>, {websocket} }}
{more}
"""
USERS = """
accounts {
  A { users: [
    { user: ann, password: pwd }
    { user: page, password: pwd, allowed_connection_types: [WEBSOCKET] }
    { user: plain, password: pwd, allowed_connection_types: [STANDARD] }
    { user: guest, password: "", allowed_connection_types: [STANDARD, WEBSOCKET] }
  ] }
}
"""
REFUSED = [b"-ERR 'Authorization Violation'"]
Serve = Callable[[str], ServerProcess]


def config(websocket: str = "no_tls: true", more: str = "") -> str:
    return CONFIG.format(websocket=websocket, more=more)


def open_socket(server: ServerProcess, path: str = "/", **headers: str) -> WebSocket:
    client = WebSocket(server.ports["ws"])
    assert client.upgrade(path, **headers).status == 101
    return client


def login(
    server: ServerProcess, connect: dict[str, Any] | None = None, **headers: str
) -> tuple[dict[str, Any], list[bytes], WebSocket]:
    """Return the first INFO, the answer to CONNECT and the client."""
    client = open_socket(server, **headers)
    info = client.info()
    return info, client.login(**(connect or {})), client


def document(server: ServerProcess, path: str) -> dict[str, Any]:
    link = http.client.HTTPConnection("127.0.0.1", server.ports["http"], timeout=20)
    try:
        link.request("GET", path)
        found: dict[str, Any] = json.loads(link.getresponse().read())
        return found
    finally:
        link.close()


@pytest.mark.parametrize(
    ("user", "by_websocket", "by_tcp"),
    [("ann", True, True), ("page", True, False), ("plain", False, True)],
)
def test_kinds_of_connection(serve: Serve, user: str, by_websocket: bool, by_tcp: bool) -> None:
    server = serve(config(more=USERS))
    given = {"user": user, "pass": "pwd"}
    info, lines, client = login(server, given)
    assert info["auth_required"] is True
    assert (lines == [b"PONG"]) is by_websocket
    if not by_websocket:
        assert lines == REFUSED
        assert client.ends() == 1008
    client.close()
    if by_tcp:
        server.connect(**given).close()
    else:
        with pytest.raises(ConnectionError):
            server.connect(**given)


COOKIES = 'no_tls: true, user_cookie: "who", pass_cookie: "secret", token_cookie: "tok"'


@pytest.mark.parametrize(
    ("cookie", "connect", "enters"),
    [
        ("who=ann; secret=pwd", {}, True),
        ('a=b; who="ann";secret=pwd; c', {}, True),
        ("who=ann; secret=wrong", {}, False),
        ("who=ann; secret=wrong", {"pass": "pwd"}, True),
        ("who=nobody; secret=pwd", {"user": "ann"}, True),
        ("WHO=ann; secret=pwd", {}, False),
    ],
)
def test_user_and_password_in_cookies(
    serve: Serve, cookie: str, connect: dict[str, str], enters: bool
) -> None:
    _, lines, client = login(serve(config(COOKIES, USERS)), connect, cookie=cookie)
    assert lines == ([b"PONG"] if enters else REFUSED)
    client.close()


@pytest.mark.parametrize(("cookie", "enters"), [("tok=t0k", True), ("tok=other", False)])
def test_a_token_in_a_cookie(serve: Serve, cookie: str, enters: bool) -> None:
    server = serve(config(COOKIES, "authorization { token: t0k }"))
    _, lines, client = login(server, cookie=cookie)
    assert lines == ([b"PONG"] if enters else REFUSED)
    client.close()


def test_a_jwt_in_a_cookie(launch: Serve, implementation: str) -> None:
    env = OperatorEnv()
    account = env.account("A")
    user = account.user("ann", bearer_token=True)
    ws = 'websocket { listen: 127.0.0.1:<ws>, no_tls: true, jwt_cookie: "jwt" }\n'
    server = launch(env.config("MEMORY", account, more="listen: 127.0.0.1:<client>\n" + ws))
    _, lines, client = login(server, cookie=f"jwt={user.token}")
    assert lines == [b"PONG"]
    client.close()
    _, lines, client = login(server, cookie=f"jwt={user.token[:-4]}AAAA")
    assert lines == REFUSED
    client.close()


@pytest.mark.parametrize(
    ("given", "connect", "enters"),
    [
        ("user: web, password: pwd", {"user": "web", "pass": "pwd"}, True),
        ("user: web, password: pwd", {"user": "all", "pass": "pwd"}, False),
        ("user: web, password: pwd", {}, False),
        ("token: t0k", {"auth_token": "t0k"}, True),
        ("token: t0k", {"user": "all", "pass": "pwd"}, False),
        ("timeout: 1", {"user": "all", "pass": "pwd"}, True),
    ],
)
def test_the_listener_has_a_user_of_its_own(
    serve: Serve, given: str, connect: dict[str, str], enters: bool
) -> None:
    everybody = "authorization { user: all, password: pwd }"
    server = serve(config(f"no_tls: true, authorization {{ {given} }}", everybody))
    _, lines, client = login(server, connect)
    assert lines == ([b"PONG"] if enters else REFUSED)
    client.close()
    server.connect(**{"user": "all", "pass": "pwd"}).close()


def test_only_the_listener_asks_for_a_user(serve: Serve) -> None:
    server = serve(config("no_tls: true, authorization { user: web, password: pwd }"))
    info, lines, client = login(server)
    assert info["auth_required"] is True
    assert lines == REFUSED
    client.close()
    with server.connect() as wire:
        assert "auth_required" not in wire.info


def test_a_user_for_clients_without_credentials(serve: Serve) -> None:
    server = serve(config("no_tls: true, no_auth_user: guest", USERS))
    info, lines, client = login(server)
    assert info["auth_required"] is True
    assert lines == [b"PONG"]
    client.close()
    silent = open_socket(server)
    silent.info()
    silent.nats("PING\r\n")
    assert silent.line() == b"PONG"
    silent.close()
    with pytest.raises(ConnectionError):
        server.connect()


def test_the_time_to_log_in(serve: Serve) -> None:
    client = open_socket(serve(config("no_tls: true, authorization { timeout: 0.2 }", USERS)))
    client.info()
    assert client.line() == b"-ERR 'Authentication Timeout'"
    assert client.ends() == 1008
    client.close()


def test_the_time_to_ask_for_the_upgrade(serve: Serve) -> None:
    server = serve(config('no_tls: true, handshake_timeout: "200ms"'))
    slow = WebSocket(server.ports["ws"])
    slow.send(b"GET / HTTP/1.1\r\nHost: a\r\n")
    assert slow.closed()
    slow.close()
    client = open_socket(server)
    client.info()
    assert client.login() == [b"PONG"]
    client.close()


def test_an_endless_request_is_refused(serve: Serve) -> None:
    client = WebSocket(serve(config()).ports["ws"])
    client.send(b"GET / HTTP/1.1\r\nHost: a\r\n")
    try:
        for _ in range(40):
            client.send(b"X: " + b"x" * 60_000 + b"\r\n")
    except ConnectionError:
        pass
    else:
        assert client.closed()
    client.close()


def test_pings_have_an_interval_of_their_own(serve: Serve) -> None:
    server = serve(config('no_tls: true, ping_interval: "200ms"', 'ping_interval: "1h"'))
    _, _, client = login(server)
    for _ in range(2):
        assert client.line() == b"PING"
        client.nats("PONG\r\n")
    client.close()


def test_info(serve: Serve, implementation: str) -> None:
    server = serve(config())
    client = open_socket(server, x_forwarded_for="203.0.113.7")
    info = client.info()
    assert (info["host"], info["port"], info["client_ip"]) == ("127.0.0.1", server.ports["ws"], "127.0.0.1")
    assert not {"tls_required", "tls_available", "ws_connect_urls", "connect_urls"} & info.keys()
    client.close()


def test_monitoring(serve: Serve) -> None:
    options = (
        'no_tls: true, same_origin: true, compression: true, handshake_timeout: "2s", no_auth_user: guest'
    )
    server = serve(
        config(f'{options}, allowed_origins: ["http://a.example"], advertise: "ws.example"', USERS)
    )
    _, _, client = login(server, {"user": "ann", "pass": "pwd", "name": "page"})
    found = document(server, "/varz")["websocket"]
    assert found == {
        "host": "127.0.0.1",
        "port": server.ports["ws"],
        "advertise": "ws.example",
        "no_auth_user": "guest",
        "handshake_timeout": 2_000_000_000,
        "no_tls": True,
        "same_origin": True,
        "allowed_origins": ["http://a.example"],
        "compression": True,
    }
    (shown,) = document(server, "/connz?auth=1")["connections"]
    assert (shown["kind"], shown["type"]) == ("Client", "websocket")
    assert (shown["name"], shown["authorized_user"], shown["account"]) == ("page", "ann", "A")
    assert (shown["in_msgs"], shown["in_bytes"]) == (0, 0)
    client.nats("PUB a 5\r\nhello\r\nPING\r\n")
    client.line()
    (shown,) = document(server, "/connz")["connections"]
    assert (shown["in_msgs"], shown["in_bytes"]) == (1, 5)
    client.close()


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://127.0.0.1:{port}", 101),
        ("http://localhost:{port}", 403),
        ("https://127.0.0.1:{port}", 403),
        ("http://127.0.0.1", 403),
    ],
)
def test_same_origin(serve: Serve, origin: str, status: int) -> None:
    server = serve(config("no_tls: true, same_origin: true"))
    port = server.ports["ws"]
    client = WebSocket(port)
    answer = client.upgrade(host=f"127.0.0.1:{port}", origin=origin.format(port=port))
    assert answer.status == status
    client.close()


def test_events_name_the_kind(serve: Serve) -> None:
    server = serve(
        config(
            more="""
accounts { SYS { users: [{ user: sys, password: pwd }] }, A { users: [{ user: ann, password: pwd }] } }
system_account: SYS
"""
        )
    )
    with server.connect(**{"user": "sys", "pass": "pwd"}) as watcher:
        watcher.sub("$SYS.ACCOUNT.A.CONNECT")
        watcher.sync()
        _, _, client = login(server, {"user": "ann", "pass": "pwd"})
        about = watcher.msg().json()["client"]
    assert (about["kind"], about["client_type"]) == ("Client", "websocket")
    client.close()


def secure() -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(PEMS / "ca.pem"))


def test_tls(serve: Serve) -> None:
    server = serve(config(CERTIFICATE))
    client = WebSocket(server.ports["ws"], secure())
    assert client.upgrade().status == 101
    info = client.info()
    assert (info["tls_required"], info["tls_available"]) == (True, True)
    assert client.login() == [b"PONG"]
    body = b"x" * 300_000
    client.nats(f"SUB a 1\r\nPUB a {len(body)}\r\n".encode() + body + b"\r\n")
    assert client.line() == b"MSG a 1 300000"
    assert client.line() == body
    (shown,) = document(server, "/connz")["connections"]
    assert shown["tls_version"] == "1.3"
    assert "tls_cert_not_after" in document(server, "/varz")["websocket"]
    client.close()


def test_a_client_without_tls_is_closed(serve: Serve) -> None:
    client = WebSocket(serve(config(CERTIFICATE)).ports["ws"])
    client.send(b"GET / HTTP/1.1\r\n\r\n")
    assert client.closed()
    client.close()


def test_a_server_that_stops_says_so(launch: Serve) -> None:
    server = launch(config())
    _, _, client = login(server)
    server.signal(signal.SIGTERM)
    assert client.ends() == 1001
    client.close()


def test_a_reload(launch: Serve) -> None:
    server = launch(config(more=USERS))
    _, _, client = login(server, {"user": "ann", "pass": "pwd"})
    _, _, other = login(server, {"user": "page", "pass": "pwd"})
    server.configure(config(more=USERS.replace("{ user: ann, password: pwd }", "")))
    server.signal(signal.SIGHUP)
    assert client.ends() in (1000, 1008)
    client.close()
    other.nats("PING\r\n")
    assert other.line() == b"PONG"
    other.close()


def test_what_a_reload_cannot_change(launch: Serve) -> None:
    server = launch(config())
    server.configure(config("no_tls: true, compression: true"))
    server.signal(signal.SIGHUP)
    eventually(lambda: "config reload not supported for" in server.log())


def test_many_small_frames_and_pings_at_once(serve: Serve) -> None:
    """A page's pings and messages come in one read; each message counts, and the last ping is answered."""
    _, _, client = login(serve(config()))
    client.nats("SUB many 1\r\n")
    one = frame(BINARY, b"PUB many 1\r\nx\r\n") + frame(PING, b"p")
    client.send(one * 2000)
    for _ in range(2000):
        assert client.line() == b"MSG many 1 1"
        client.line()
    client.close()
