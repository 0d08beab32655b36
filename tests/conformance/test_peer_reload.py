"""A reload that asks other servers for another login: those that have no right to be there are closed."""

from __future__ import annotations

import signal
from collections.abc import Callable
from contextlib import closing

from lib import gateway_peer
from lib.eventually import eventually
from lib.process import ServerProcess
from lib.raw_peer import Peer, route

LOGIN = "authorization { user: other, password: secret }"
ROUTES = "listen: 127.0.0.1:<client>\nserver_name: S\ncluster { name: C, listen: 127.0.0.1:<route>, %s }\n"
GATEWAYS = (
    "listen: 127.0.0.1:<client>\nserver_name: S\ngateway { name: C, listen: 127.0.0.1:<gateway>, %s }\n"
)
REFUSED = b"-ERR 'Authorization Violation'\r\n"
Launch = Callable[[str], ServerProcess]


def reload(server: ServerProcess, config: str) -> None:
    """Return when the server has another configuration, or has refused it."""
    before = server.log().count("eload")
    server.configure(config)
    server.signal(signal.SIGHUP)
    eventually(lambda: server.log().count("eload") > before)


def test_routes_are_closed(launch: Launch) -> None:
    server = launch(ROUTES % "no_advertise: false")
    with closing(route(server)) as peer:
        peer.hears(b"")
        reload(server, ROUTES % "no_advertise: true")
        assert b"ERR" not in peer.hears(b"")
        reload(server, ROUTES % LOGIN)
        assert peer.read(REFUSED).endswith(REFUSED)
    with closing(route(server)) as peer:
        assert peer.read(REFUSED).endswith(REFUSED)


def test_gateways_are_closed_or_nothing_changes(launch: Launch, implementation: str) -> None:
    """nats-server refuses a reload with another login of gateways."""
    server = launch(GATEWAYS % "")
    first = gateway_peer.connect("P") + gateway_peer.info("P")
    with closing(Peer(server, "gateway", first)) as peer:
        peer.hears(b"")
        reload(server, GATEWAYS % "authorization { user: gate, password: secret }")
        assert b"ERR" not in peer.hears(b"")
        reload(server, GATEWAYS % LOGIN)
        if implementation == "pyjs":
            assert peer.read(REFUSED).endswith(REFUSED)
        else:
            assert b"ERR" not in peer.hears(b"")
            assert "config reload not supported for Gateway" in server.log()
