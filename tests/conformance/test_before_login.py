"""Before a login only CONNECT is read, in a line of at most `max_control_line`, and in time; on every
port that asks. What is refused is refused at its first bytes, whatever was to follow.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Callable

import pytest
from lib.eventually import eventually
from lib.pool import START
from lib.process import ServerProcess
from lib.wire import Wire

ASKS = """
listen: "127.0.0.1:<client>"
max_payload: 12MB
authorization { user: a, password: b }
leafnodes { listen: "127.0.0.1:<leaf>" }
cluster { name: c, listen: "127.0.0.1:<route>", authorization { user: a, password: b } }
"""
OPEN = 'listen: "127.0.0.1:<client>"\nmax_payload: 12MB\n'
ANYBODY = """
listen: "127.0.0.1:<client>"
accounts { A { users: [{user: a, password: b}] } }
no_auth_user: a
"""
LOGIN = b'CONNECT {"user":"a","pass":"b","verbose":false,"pedantic":false}\r\n'
VIOLATION = b"-ERR 'Authorization Violation'"
UNKNOWN = b"-ERR 'Unknown Protocol Operation'"
TOO_LONG = b"-ERR 'maximum control line exceeded'"
Serve = Callable[[str], ServerProcess]

NOT_CONNECT = [
    b"P",
    b"PING\r\n",
    b"PONG\r\n",
    b"INFO {}\r\n",
    b"\r\n",
    b"+OK\r\n",
    b"-ERR 'x'\r\n",
    b"SUB a 1\r\n",
    b"PUB a 12000000\r\n",
    b"HPUB a 12 12000000\r\n",
    b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01",
    b"\x00",
    b" CONNECT {}\r\n",
]


@pytest.mark.parametrize("words", NOT_CONNECT)
def test_anything_but_connect_is_refused_at_its_first_bytes(serve: Serve, words: bytes) -> None:
    with serve(ASKS).raw() as wire:
        wire.send(words)
        assert wire.ends() == [VIOLATION]


@pytest.mark.parametrize("words", [b"CX", b"CONN?", b"COPY x\r\n"])
def test_what_begins_as_connect_and_is_none_is_unknown(serve: Serve, words: bytes) -> None:
    with serve(ASKS).raw() as wire:
        wire.send(words)
        assert wire.ends() == [UNKNOWN]


@pytest.mark.parametrize("end", [b'"}\r\n', b""])
@pytest.mark.parametrize("config", [ASKS, OPEN])
def test_a_connect_line_has_the_length_of_any_other(serve: Serve, config: str, end: bytes) -> None:
    """A token of more than 4 KB is no wrong token, but a line too long."""
    with serve(config).raw() as wire:
        wire.send(b'CONNECT {"auth_token":"' + b"x" * 4100 + end)
        assert wire.ends() == [TOO_LONG]


def test_what_comes_with_connect_is_served_behind_it(serve: Serve) -> None:
    with serve(ASKS).raw() as wire:
        wire.send(LOGIN + b"SUB a 1\r\nPUB a 3\r\nabc\r\nPI")
        message = wire.msg()
        assert (message.subject, message.body) == ("a", b"abc")
        wire.send(b"NG\r\n")
        assert wire.next() == b"PONG"


def test_what_comes_with_a_refused_connect_is_never_served(serve: Serve) -> None:
    server = serve(ASKS)
    with server.connect(user="a", **{"pass": "b"}) as listener, server.raw() as wire:
        listener.sub("a")
        listener.sync()
        wire.send(b'CONNECT {"user":"a","pass":"wrong"}\r\nPUB a 3\r\nabc\r\nPING\r\n')
        assert wire.ends() == [VIOLATION]
        assert listener.sync() == []


@pytest.mark.parametrize("config", [OPEN, ANYBODY])
def test_who_need_not_log_in_may_speak_at_once(serve: Serve, config: str) -> None:
    with serve(config).raw() as wire:
        wire.send(b"SUB a 1\r\n")
        assert wire.next() == b"+OK"
        wire.send(b"PUB a 3\r\nabc\r\nPING\r\n")
        seen = [wire.next() for _ in range(3)]
        assert seen[0] == b"+OK"
        assert b"PONG" in seen


@pytest.mark.parametrize("words", [b"\r\n", b"XYZ\r\n", b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02"])
@pytest.mark.parametrize("config", [OPEN, ANYBODY])
def test_junk_is_unknown_where_nobody_need_log_in(serve: Serve, config: str, words: bytes) -> None:
    with serve(config).raw() as wire:
        wire.send(words)
        assert wire.ends() == [UNKNOWN]


@pytest.mark.parametrize(
    "words", [b"P", b"PING\r\n", b"LMSG a 12000000\r\n", b"RMSG $G a 12000000\r\n", b"LS+ a\r\n", b"\x16\x03"]
)
@pytest.mark.parametrize("port", ["leaf", "route"])
def test_a_leaf_or_a_route_begins_with_connect_too(serve: Serve, port: str, words: bytes) -> None:
    with _stranger(serve(ASKS).ports[port], port) as wire:
        wire.send(words)
        assert VIOLATION in wire.ends()


@pytest.mark.parametrize("port", ["leaf", "route"])
def test_the_connect_line_of_a_leaf_or_a_route_ends_too(serve: Serve, port: str) -> None:
    with _stranger(serve(ASKS).ports[port], port) as wire:
        wire.send(b'CONNECT {"name":"' + b"x" * (16 * 4096))
        assert TOO_LONG in wire.ends()


@pytest.mark.parametrize("lead", [b"", b"CON", LOGIN[:-2]])
def test_who_does_not_finish_connect_in_time_is_closed(launch: Serve, lead: bytes) -> None:
    config = ASKS.replace("password: b }\nleaf", "password: b, timeout: 0.3 }\nleaf")
    assert config != ASKS
    with launch(config).raw() as wire:
        wire.send(lead)
        assert wire.ends() == [b"-ERR 'Authentication Timeout'"]


def test_a_reload_that_begins_to_ask_asks_those_who_said_nothing() -> None:
    """Of pyjs alone: on the reference they go on without a login."""
    server = START["pyjs"](OPEN)
    try:
        with server.raw() as silent, server.raw() as middle:
            middle.send(b"PUB a 12000000\r\nabc")
            server.configure(OPEN + "authorization { user: a, password: b }\n")
            server.signal(signal.SIGHUP)
            eventually(lambda: _asks(server))
            middle.send(b"d")
            assert middle.ends() == [VIOLATION]
            silent.send(LOGIN)
            assert silent.sync() == []
    finally:
        server.stop()


def _asks(server: ServerProcess) -> bool:
    with server.raw() as wire:
        return bool(wire.info.get("auth_required"))


def _stranger(port: int, kind: str) -> Wire:
    """A raw connection to a leaf's or a route's port. A route is greeted only once it has spoken."""
    if kind == "leaf":
        return Wire(port)
    return _Silent(port)


class _Silent(Wire):
    """A connection whose server does not speak first."""

    def _line(self) -> bytes:
        if not self.infos:
            return b"INFO " + json.dumps({"skipped": True}).encode()
        return super()._line()
