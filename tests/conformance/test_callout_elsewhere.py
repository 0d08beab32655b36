"""Auth callout of leaf nodes, of WebSocket and TLS clients, on other servers of a cluster, at a reload."""

from __future__ import annotations

import signal
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from lib.callout_service import CalloutService, assigned, response
from lib.eventually import eventually
from lib.mqtt import MQTTClient, connect
from lib.process import ServerProcess
from lib.web_socket import WebSocket
from lib.wire import Wire
from pyjs.keys import AuthorizationRequestClaims, KeyPair, KeyRole

PEMS = Path(__file__).parents[1] / "server" / "config" / "pem"
ISSUER = KeyPair.create(KeyRole.ACCOUNT)
CONFIG = """
listen: 127.0.0.1:<client>
server_name: S
accounts {{ AUTH {{ users: [{{ user: auth, password: pwd }}] }}, FOO {{}}, BAR {{}} }}
authorization {{
  timeout: 20
  auth_callout {{ issuer: {issuer}, account: AUTH, auth_users: [auth] }}
}}
{more}
"""


def config(more: str = "") -> str:
    return CONFIG.format(issuer=ISSUER.public_key, more=more)


def allow(request: AuthorizationRequestClaims) -> bytes:
    return response(request, ISSUER, assigned(request, ISSUER, "FOO", name="Ann"))


def deny(_: AuthorizationRequestClaims) -> bytes:
    return b""


@pytest.fixture
def connected() -> Iterator[Callable[[ServerProcess], CalloutService]]:
    made: list[Wire] = []

    def start(server: ServerProcess) -> CalloutService:
        made.append(server.connect(user="auth", **{"pass": "pwd"}))
        return CalloutService(made[-1])

    yield start
    for wire in made:
        wire.close()


Connected = Callable[[ServerProcess], CalloutService]


def test_a_websocket_client(serve: Callable[[str], ServerProcess], connected: Connected) -> None:
    server = serve(config("websocket { listen: 127.0.0.1:<ws>, no_tls: true }"))
    service = connected(server)
    for answer in (allow, deny):
        client = WebSocket(server.ports["ws"])
        assert client.upgrade().status == 101
        client.info()
        client.nats('CONNECT {"user":"ann","pass":"x","verbose":false}\r\nPING\r\n')
        request = service.take(answer)
        assert request.nats.client_info.type == "websocket"
        said = client.line()
        assert said == (b"PONG" if answer is allow else b"-ERR 'Authorization Violation'")
        client.close()


def test_an_mqtt_client(serve: Callable[[str], ServerProcess], connected: Connected) -> None:
    block = 'jetstream { store_dir: "<store>" }\nmqtt { listen: 127.0.0.1:<mqtt> }'
    server = serve(config(block).replace("FOO {}", "FOO { jetstream: enabled }"))
    service = connected(server)
    for answer in (allow, deny):
        with MQTTClient(server.ports["mqtt"]) as client:
            client.send(connect("device", user="ann", password="x"))
            request = service.take(answer)
            assert request.nats.client_info.type == "mqtt"
            assert request.nats.client_info.mqtt_id == "device"
            assert request.nats.connect_opts.user == "ann"
            assert client.read().body == (b"\0\0" if answer is allow else b"\0\5")


LEAF = "leafnodes { listen: 127.0.0.1:<leaf> }"
SPOKE = """
listen: 127.0.0.1:<client>
server_name: spoke
leafnodes {{ reconnect: 1, remotes: [{{ url: "nats-leaf://ann:secret@127.0.0.1:{port}" }}] }}
"""


def test_a_leaf_node(
    serve: Callable[[str], ServerProcess],
    launch: Callable[[str], ServerProcess],
    connected: Connected,
) -> None:
    hub = serve(config(LEAF))
    service = connected(hub)
    spoke = launch(SPOKE.format(port=hub.ports["leaf"]))
    refused = service.take(deny)
    assert refused.nats.client_info.kind == "Leafnode"
    assert (refused.nats.connect_opts.user, refused.nats.connect_opts.password) == ("ann", "secret")
    service.take(allow)  # it comes again
    with hub.raw() as wire:
        wire.login(user="ann")
        service.take(allow)
        assert wire.sync() == []
        wire.sub("across")
        wire.sync()
        with spoke.connect() as other:

            def crosses() -> bool:
                other.pub("across", "x")
                other.sync()
                return bool(wire.sync())

            eventually(crosses)


def test_a_certificate_is_shown_to_the_service(
    serve: Callable[[str], ServerProcess], connected: Connected
) -> None:
    files = f'cert_file: "{PEMS}/server.pem", key_file: "{PEMS}/server-key.pem"'
    server = serve(config(f'tls {{ {files}, ca_file: "{PEMS}/ca.pem", verify: true }}\nallow_non_tls: true'))
    service = connected(server)
    context = ssl.create_default_context(cafile=str(PEMS / "ca.pem"))
    context.check_hostname = False
    context.load_cert_chain(PEMS / "client.pem", PEMS / "client-key.pem")
    wire = server.raw()
    wire.sock = context.wrap_socket(wire.sock)
    with wire:
        wire.login(user="ann")
        request = service.take(allow)
        tls = request.nats.client_tls
        assert tls is not None
        assert tls.version == "1.3"
        assert tls.cipher.startswith("TLS_")
        own = (PEMS / "client.pem").read_text()
        leaf = tls.verified_chains[0][0]
        assert leaf.strip() in own
        assert tls.certs == []
        assert wire.sync() == []


CLUSTER = "cluster {{ name: C, listen: 127.0.0.1:<cluster> {routes} }}"


def test_a_service_on_another_server(launch: Callable[[str], ServerProcess], connected: Connected) -> None:
    one = launch(config(CLUSTER.format(routes="")))
    routes = f', routes: ["nats://127.0.0.1:{one.ports["cluster"]}"]'
    two = launch(config(CLUSTER.format(routes=routes)).replace("server_name: S", "server_name: T"))
    service = connected(one)

    def enters() -> bool:
        """Ask until the interest of the service has crossed the route."""
        with two.raw() as wire:
            wire.login(user="ann")
            wire.sock.settimeout(1)
            service.wire.sock.settimeout(1)
            try:
                request = service.take(allow)
            except TimeoutError:
                return False
            assert request.nats.server_id.name == "T"
            assert request.nats.server_id.cluster == "C"
            assert wire.sync() == []
            return True

    eventually(enters)


def test_a_reload_that_takes_the_callout_away(
    launch: Callable[[str], ServerProcess], connected: Connected, implementation: str
) -> None:
    """On pyjs nobody stays whom a service let in that is no longer asked (docs/differences.md)."""
    server = launch(config())
    service = connected(server)
    with server.raw() as wire:
        wire.login(user="ann")
        service.take(allow)
        assert wire.sync() == []
        server.configure(config().replace("auth_callout", "# auth_callout"))
        server.signal(signal.SIGHUP)
        if implementation == "pyjs":
            assert wire.ends() == [b"-ERR 'Authorization Violation'"]
        else:
            assert wire.sync() == []
