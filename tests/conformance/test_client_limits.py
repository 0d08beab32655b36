"""Limits of a connection and of the server, each with its -ERR and whether it closes; timers."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from lib.process import ServerProcess
from lib.wire import Msg

CONFIG = """
listen: 127.0.0.1:<client>
server_name: S
max_payload: 1024
max_control_line: 512
max_subscriptions: 100
ping_interval: "200ms"
ping_max: 1
"""
FEW = "listen: 127.0.0.1:<client>\nmax_connections: 2\n"
ZEROS = """
listen: 127.0.0.1:<client>
max_payload: 0
max_control_line: 0
max_pending: 0
ping_interval: "0s"
ping_max: 0
write_deadline: "0s"
authorization { user: a, password: b, timeout: 0 }
leafnodes { listen: "127.0.0.1:-1", reconnect: "0s" }
"""
OWN = """
listen: 127.0.0.1:<client>
accounts { A { users: [{user: a, password: b}], limits { max_payload: 500 } } }
"""


@pytest.fixture
def server(serve: Callable[[str], ServerProcess]) -> ServerProcess:
    return serve(CONFIG)


def test_info_shows_the_payload_limit(server: ServerProcess) -> None:
    with server.raw() as wire:
        assert wire.info["max_payload"] == 1024


def test_limits_and_times_of_zero_are_the_defaults(
    serve: Callable[[str], ServerProcess], unique: str
) -> None:
    with serve(ZEROS).connect(user="a", **{"pass": "b"}) as wire:
        assert wire.infos[0]["max_payload"] == 1048576
        wire.sub(unique)
        wire.pub(unique, "x" * 5000)
        assert len(wire.msg().body) == 5000
        assert wire.sync() == []


def test_info_after_login_shows_the_payload_limit_of_the_account(
    serve: Callable[[str], ServerProcess],
) -> None:
    with serve(OWN).raw() as wire:
        assert wire.info["max_payload"] == 1048576
        wire.login(user="a", **{"pass": "b"})
        assert wire.sync() == []
        wire.sync()
        assert [info["max_payload"] for info in wire.infos[1:]] == [500]
        wire.send("PUB a 501\r\n")
        assert wire.ends() == [b"-ERR 'Maximum Payload Violation'"]


def test_a_payload_of_the_limit_passes(server: ServerProcess, unique: str) -> None:
    with server.connect() as wire:
        wire.sub(unique)
        wire.pub(unique, "x" * 1024)
        assert len(wire.msg().body) == 1024


@pytest.mark.parametrize("frame", ["PUB a 1025\r\n", "HPUB a 12 1025\r\n", "PUB a r 200000000\r\n"])
def test_a_payload_above_the_limit_closes_before_it_is_sent(server: ServerProcess, frame: str) -> None:
    with server.connect() as wire:
        wire.send(frame)
        assert wire.ends() == [b"-ERR 'Maximum Payload Violation'"]


@pytest.mark.parametrize("end", ["", "\r\n"])
def test_a_control_line_above_the_limit_closes(server: ServerProcess, end: str) -> None:
    with server.connect() as wire:
        wire.send("SUB " + "a" * 600 + " 1" + end)
        (received,) = wire.ends()
    assert isinstance(received, bytes)
    assert received.startswith(b"-ERR 'maximum control line exceeded")


@pytest.mark.parametrize("words", ["PUB a", "PUB a 1000\r\n"])
def test_bytes_of_what_never_ends_put_off_no_ping(server: ServerProcess, words: str) -> None:
    with server.connect() as wire:
        wire.sock.settimeout(0.05)
        wire.send(words)
        seen = b""
        for _ in range(200):
            try:
                wire.send("a")
                seen += (data := wire.sock.recv(4096))
            except TimeoutError:
                continue
            except ConnectionError:
                break
            if not data:
                break
        assert b"-ERR 'Stale Connection'" in seen


def test_a_control_line_below_the_limit_passes(server: ServerProcess) -> None:
    subject = "a" * 480
    with server.connect() as wire:
        wire.sub(subject)
        wire.pub(subject, "x")
        assert [m.subject for m in wire.sync() if isinstance(m, Msg)] == [subject]


def test_one_subscription_too_many_is_refused_and_the_connection_stays(
    server: ServerProcess, unique: str
) -> None:
    with server.connect() as wire:
        wire.send("".join(f"SUB {unique}.{i} {i}\r\n" for i in range(100)))
        assert wire.sync() == []
        wire.sub(f"{unique}.more", "more")
        assert wire.sync() == [b"-ERR 'maximum subscriptions exceeded'"]
        wire.send("UNSUB 0\r\n")
        wire.sub(f"{unique}.more", "more")
        wire.pub(f"{unique}.more", "x")
        assert [m.sid for m in wire.sync() if isinstance(m, Msg)] == ["more"]


def test_a_million_subscriptions_against_the_limit_do_no_harm(server: ServerProcess, unique: str) -> None:
    refused = b"-ERR 'maximum subscriptions exceeded'"
    with server.connect() as wire:
        for block in range(20):
            wire.send("".join(f"SUB {unique}.{block}.{i} {block}.{i}\r\n" for i in range(500)))
            received = wire.sync()
            assert received in ([refused] * 500, [refused] * 400)
        wire.pub(f"{unique}.0.7", "x")
        assert [m.sid for m in wire.sync() if isinstance(m, Msg)] == ["0.7"]


def test_an_endless_line_without_end_is_cut(server: ServerProcess) -> None:
    with server.raw() as wire:
        wire.send(b"P" * 100)
        (received,) = wire.ends()
    assert received == b"-ERR 'Unknown Protocol Operation'"


def test_who_does_not_answer_pings_is_stale(server: ServerProcess) -> None:
    with server.raw() as wire:
        wire.login()
        wire.send("PING\r\n")
        seen = bytearray()
        while data := wire.sock.recv(65536):
            seen += data
    assert seen.endswith(b"-ERR 'Stale Connection'\r\n")
    assert b"PING\r\n" in seen


def test_connections_above_the_limit_are_reported_and_closed(serve: Callable[[str], ServerProcess]) -> None:
    server = serve(FEW)
    with server.connect(), server.connect(), server.raw() as third:
        assert third.ends() == [b"-ERR 'maximum connections exceeded'"]


def test_a_place_that_became_free_is_given_again(serve: Callable[[str], ServerProcess]) -> None:
    server = serve(FEW)
    with server.connect() as one:
        one.send("BAD\r\n")
        one.ends()
    with server.connect(), server.connect():
        pass
