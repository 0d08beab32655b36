"""Two servers of a cluster, of both implementations, whose configurations differ."""

from __future__ import annotations

import contextlib
import json
import signal
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from lib.eventually import eventually
from lib.pool import START
from lib.process import ServerProcess
from lib.wire import Msg, Wire

PAIRS = [("pyjs", "pyjs"), ("reference", "pyjs"), ("pyjs", "reference")]
CONFIG = """
listen: 127.0.0.1:<client>
http: 127.0.0.1:<http>
server_name: {name}
cluster {{ name: {cluster}, listen: "127.0.0.1:<route>", routes: [{routes}]
{inside}
}}
{outside}
"""


@contextlib.contextmanager
def two(
    pair: tuple[str, str], *, inside: str = "", outside: str = "", cluster: str = "c"
) -> Iterator[tuple[ServerProcess, ServerProcess]]:
    """The first is configured so; the second is plain and dials it."""
    first = START[pair[0]](CONFIG.format(name="a", cluster="c", routes="", inside=inside, outside=outside))
    try:
        routes = f'"nats-route://127.0.0.1:{first.ports["route"]}"'
        plain = CONFIG.format(name="b", cluster=cluster, routes=routes, inside="", outside="")
        second = START[pair[1]](plain)
        try:
            yield first, second
        finally:
            second.stop()
    finally:
        first.stop()


def hears(listener: Wire, sender: Wire, subject: str, sid: str, body: str = "x") -> None:
    """Return when the listener has heard the sender."""

    def heard() -> bool:
        sender.pub(subject, body)
        sender.sync()
        return any(isinstance(frame, Msg) and frame.sid == sid for frame in listener.sync())

    eventually(heard)


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_messages_may_be_larger_than_clients_here_may_send(pair: tuple[str, str]) -> None:
    with (
        two(pair, outside="max_payload: 1000") as (a, b),
        Wire.connected(a.port) as listener,
        Wire.connected(b.port) as sender,
    ):
        listener.sub("t", "1")
        hears(listener, sender, "t", "1", "y" * 5000)
        assert varz(a)["remotes"] == 1


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_import_is_what_is_asked_of_others(pair: tuple[str, str]) -> None:
    with (
        two(pair, inside='permissions { import: "t.>" }') as (a, b),
        Wire.connected(a.port) as one,
        Wire.connected(b.port) as two_,
    ):
        one.sub(">", "0")
        one.sub("u.x", "1")
        one.sub("t.x", "2")
        hears(one, two_, "t.x", "2")
        two_.pub("u.x", "not asked for")
        two_.sub("u.y", "3")
        hears(two_, one, "u.y", "3")
        assert not [frame for frame in one.sync() if isinstance(frame, Msg) and frame.sid == "1"]


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_export_is_what_others_hear(pair: tuple[str, str]) -> None:
    with (
        two(pair, inside='permissions { export: { deny: "u.>" } }') as (a, b),
        Wire.connected(a.port) as one,
        Wire.connected(b.port) as two_,
    ):
        two_.sub("u.x", "1")
        two_.sub("t.x", "2")
        hears(two_, one, "t.x", "2")
        one.pub("u.x", "kept here")
        one.pub("t.x", "last")
        while (message := two_.msg()).body != b"last":
            assert message.sid == "2"


def test_a_reload_of_permissions_holds_at_once() -> None:
    with (
        two(("pyjs", "pyjs"), inside='permissions { export: { deny: "u.>" } }') as (a, b),
        Wire.connected(a.port) as one,
        Wire.connected(b.port) as two_,
    ):
        two_.sub("u.x", "1")
        two_.sub("t.x", "2")
        hears(two_, one, "t.x", "2")
        assert a.process is not None
        routes, inside = "", 'permissions { export: { deny: "t.>" } }'
        a.configure(CONFIG.format(name="a", cluster="c", routes=routes, inside=inside, outside=""))
        a.process.send_signal(signal.SIGHUP)
        hears(two_, one, "u.x", "1")
        one.pub("t.x", "kept here")
        one.pub("u.x", "last")
        while (message := two_.msg()).body != b"last":
            assert message.body == b"x"


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
@pytest.mark.parametrize("why", ["authorization { user: r, password: s }", ""], ids=["password", "name"])
def test_who_is_refused_does_not_come_again_at_once(pair: tuple[str, str], why: str) -> None:
    began = time.monotonic()
    with two(pair, inside=why, cluster="c" if why else "d") as (a, b):

        def tried() -> bool:
            with Wire.connected(a.port) as wire:
                return bool(wire.info["client_id"] >= 6)

        eventually(tried, 60)
        with Wire.connected(b.port) as wire:
            # Some three attempts per second, with the pool of the reference.
            assert wire.info["client_id"] < 20 + 20 * (time.monotonic() - began)
        assert varz(a)["remotes"] == varz(b)["remotes"] == 0


PEMS = Path(__file__).parent.parent / "conformance" / "pem"
MAPPED = f"""
tls {{
    cert_file: "{PEMS}/server.pem", key_file: "{PEMS}/server-key.pem", ca_file: "{PEMS}/ca.pem"
    verify_and_map: true
}}
authorization {{ user: %s, password: "of no use" }}
"""


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
@pytest.mark.parametrize("user", ["localhost", "other"])
def test_the_certificate_of_a_server_names_the_user(pair: tuple[str, str], user: str) -> None:
    inside = MAPPED % user
    first = START[pair[0]](CONFIG.format(name="a", cluster="c", routes="", inside=inside, outside=""))
    try:
        routes = f'"nats-route://127.0.0.1:{first.ports["route"]}"'
        second = START[pair[1]](
            CONFIG.format(name="b", cluster="c", routes=routes, inside=MAPPED % "localhost", outside="")
        )
        try:
            if user == "localhost":
                with Wire.connected(first.port) as one, Wire.connected(second.port) as other:
                    for listener, sender, sid in ((one, other, "1"), (other, one, "2")):
                        listener.sub("t", sid)
                        hears(listener, sender, "t", sid)
            else:
                eventually(lambda: "Authorization Violation" in second.log())
                assert varz(first)["remotes"] == varz(second)["remotes"] == 0
        finally:
            second.stop()
    finally:
        first.stop()


def varz(server: ServerProcess) -> dict[str, int]:
    with urllib.request.urlopen(f"http://127.0.0.1:{server.ports['http']}/varz", timeout=20) as answer:
        found: dict[str, int] = json.load(answer)
        return found
