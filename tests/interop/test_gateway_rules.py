"""Two clusters of both implementations: TLS between them, and what a reload changes."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from lib.eventually import eventually
from lib.pool import START
from lib.process import ServerProcess
from lib.wire import Msg, Wire

PAIRS = [("pyjs", "pyjs"), ("reference", "pyjs"), ("pyjs", "reference")]
PEMS = Path(__file__).parent.parent / "conformance" / "pem"
TLS = f'tls {{ cert_file: "{PEMS}/server.pem", key_file: "{PEMS}/server-key.pem", ca_file: "{PEMS}/ca.pem" }}'
CONFIG = """
listen: 127.0.0.1:<client>
server_name: {name}
gateway {{ name: {name}, listen: "127.0.0.1:<gateway>", gateways: [{gateways}]
{inside}
}}
accounts {{ {accounts} }}
"""
A = "A: { users: [{user: a, password: a}] }"
B = "B: { users: [{user: b, password: b}] }"


@contextlib.contextmanager
def two(
    pair: tuple[str, str], inside: str = "", remote: str = "", *, host: str = "127.0.0.1"
) -> Iterator[tuple[ServerProcess, ServerProcess]]:
    """Both have `inside` in their gateway block; the second dials the first, with `remote` in its entry."""
    first = START[pair[0]](CONFIG.format(name="E", gateways="", inside=inside, accounts=A))
    try:
        gateways = f'{{ name: E, url: "nats://{host}:{first.ports["gateway"]}" {remote} }}'
        second = START[pair[1]](CONFIG.format(name="W", gateways=gateways, inside=inside, accounts=A))
        try:
            yield first, second
        finally:
            second.stop()
    finally:
        first.stop()


def hear_each_other(first: ServerProcess, second: ServerProcess, user: str = "a") -> None:
    """Return when messages pass in both directions."""
    with (
        first.connect(user=user, **{"pass": user}) as one,
        second.connect(user=user, **{"pass": user}) as other,
    ):
        for listener, sender in ((one, other), (other, one)):
            listener.sub("t", "1")
            eventually(lambda listener=listener, sender=sender: heard(listener, sender))  # type: ignore[misc]
            listener.send("UNSUB 1\r\n")


def heard(listener: Wire, sender: Wire) -> bool:
    sender.pub("t", "x")
    sender.sync()
    return any(isinstance(frame, Msg) for frame in listener.sync())


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_both_ends_show_certificates(pair: tuple[str, str]) -> None:
    with two(pair, TLS) as (first, second):
        hear_each_other(first, second)


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_a_certificate_names_the_user_or_a_known_url(pair: tuple[str, str]) -> None:
    """Both have the certificate of "localhost", and the second dials "localhost"; the first knows no URL."""
    mapped = TLS.replace(" }", ", verify_and_map: true, verify_cert_and_check_known_urls: true }")
    user = 'authorization { user: "localhost", password: "of no use" }'
    with two(pair, f"{mapped}\n{user}", host="localhost") as (first, second):
        hear_each_other(first, second)


def test_an_entry_has_tls_of_its_own() -> None:
    """The block of the second server has none for its listener, so it is dialled without."""
    with two(("reference", "pyjs"), "", "") as (first, second):
        hear_each_other(first, second)
    first = START["reference"](CONFIG.format(name="E", gateways="", inside=TLS, accounts=A))
    try:
        gateways = f'{{ name: E, url: "nats://127.0.0.1:{first.ports["gateway"]}", {TLS} }}'
        second = START["pyjs"](CONFIG.format(name="W", gateways=gateways, inside="", accounts=A))
        try:
            with (
                first.connect(user="a", **{"pass": "a"}) as listener,
                second.connect(user="a", **{"pass": "a"}) as sender,
            ):
                listener.sub("t", "1")
                eventually(lambda: heard(listener, sender))
        finally:
            second.stop()
    finally:
        first.stop()


def test_a_stranger_without_a_certificate_is_refused() -> None:
    first = START["pyjs"](CONFIG.format(name="E", gateways="", inside=TLS, accounts=A))
    try:
        gateways = f'{{ name: E, url: "nats://127.0.0.1:{first.ports["gateway"]}" }}'
        second = START["pyjs"](CONFIG.format(name="W", gateways=gateways, inside="", accounts=A))
        try:
            eventually(lambda: "TLS gateway handshake error" in first.log(), 30)
            with (
                first.connect(user="a", **{"pass": "a"}) as listener,
                second.connect(user="a", **{"pass": "a"}) as sender,
            ):
                listener.sub("t", "1")
                listener.sync()
                assert not heard(listener, sender)
        finally:
            second.stop()
    finally:
        first.stop()


def reload(server: ServerProcess, config: str) -> None:
    server.configure(config)
    assert server.process is not None
    server.process.send_signal(signal.SIGHUP)


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_accounts_of_a_reload_are_shared_at_once(pair: tuple[str, str]) -> None:
    with two(pair) as (first, second):
        hear_each_other(first, second)
        for server, name in ((first, "E"), (second, "W")):
            gateways = (
                "" if name == "E" else f'{{ name: E, url: "nats://127.0.0.1:{first.ports["gateway"]}" }}'
            )
            reload(server, CONFIG.format(name=name, gateways=gateways, inside="", accounts=A + "\n" + B))

        def known() -> bool:
            try:
                for server in (first, second):
                    server.connect(user="b", **{"pass": "b"}).close()
            except ConnectionError:
                return False
            return True

        eventually(known)
        hear_each_other(first, second, "b")
        hear_each_other(first, second, "a")
        reload(first, CONFIG.format(name="E", gateways="", inside="", accounts=B))

        def gone() -> bool:
            with second.connect(user="a", **{"pass": "a"}) as wire:
                wire.pub("t", "x", reply=wire.inbox())
                return any(isinstance(frame, Msg) and frame.status == "503" for frame in wire.sync())

        eventually(gone)
        hear_each_other(first, second, "b")


def test_a_reload_that_changes_gateways_is_refused() -> None:
    first = START["pyjs"](CONFIG.format(name="E", gateways="", inside="", accounts=A))
    try:
        reload(first, CONFIG.format(name="E", gateways="", inside="connect_retries: 3", accounts=A))
        eventually(lambda: "config reload not supported for gateway.connect_retries" in first.log())
    finally:
        first.stop()
