"""A message that is to be traced only is neither delivered, stored nor acknowledged."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from lib.jetstream import JetStream
from lib.process import ServerProcess
from lib.wire import Msg, Wire, header_block

CONFIG = """
listen: 127.0.0.1:<client>
server_name: S
jetstream { store_dir: "<store>", max_mem: 10MB, max_file: 10MB }
authorization {
  users: [
    { user: all, password: p }
    { user: few, password: p, permissions: { publish: { deny: "secret.>" } } }
  ]
}
"""
DEST, ONLY = "Nats-Trace-Dest", "Nats-Trace-Only"
Login = Callable[[str], Wire]


@pytest.fixture
def login(serve: Callable[[str], ServerProcess]) -> Login:
    server = serve(CONFIG)
    return lambda user: server.connect(**{"user": user, "pass": "p"})


@pytest.fixture
def js(login: Login) -> Iterator[JetStream]:
    with JetStream(login("all")) as api:
        yield api


def heard(wire: Wire) -> list[bytes]:
    return [frame.body for frame in wire.sync() if isinstance(frame, Msg)]


@pytest.mark.parametrize("user", ["all", "few"])
@pytest.mark.parametrize(
    ("headers", "passes"),
    [
        ({DEST: "t.x", ONLY: "true"}, False),
        ({DEST: "t.x", ONLY: "TRUE"}, False),
        ({DEST: "t.x", ONLY: "1"}, False),
        ({DEST: "t.x", ONLY: "On"}, False),
        ({ONLY: "true", "Other": "x", DEST: "t.x"}, False),
        ({DEST: "t.x", ONLY: "false"}, True),
        ({DEST: "t.x", ONLY: "yes"}, True),
        ({DEST: "t.x", ONLY: ""}, True),
        ({DEST: "t.x"}, True),
        ({ONLY: "true"}, True),
        ({DEST: "", ONLY: "true"}, True),
        ({DEST.lower(): "t.x", ONLY: "true"}, True),
        ({DEST: "t.x", ONLY.lower(): "true"}, True),
        # Where the trace was to go cannot be: there is none, and the message stays behind all the same.
        ({DEST: "t.*", ONLY: "true"}, False),
        ({DEST: "t..x", ONLY: "true"}, False),
        ({DEST: "a b", ONLY: "true"}, False),
        ({DEST: "t.*"}, True),
        ({"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", ONLY: "true"}, True),
    ],
)
def test_nobody_hears_what_is_traced_only(
    login: Login, unique: str, user: str, headers: dict[str, str], passes: bool
) -> None:
    with login("all") as listener, login(user) as wire:
        listener.sub(f"{unique}.a", "1")
        listener.sub(f"{unique}.*", "2", "q")
        listener.sync()
        wire.pub(f"{unique}.a", "x", headers=headers)
        wire.pub(f"{unique}.a", "end")
        assert wire.sync() == []
        assert heard(listener) == ([b"x"] * 2 if passes else []) + [b"end"] * 2


def test_a_disabled_destination(login: Login, unique: str, implementation: str) -> None:
    """The reference delivers it: it takes the destination for its own mark of what is traced no more."""
    with login("all") as listener, login("all") as wire:
        listener.sub(unique)
        listener.sync()
        wire.pub(unique, "only", headers={DEST: "trace disabled", ONLY: "true"})
        wire.pub(unique, "traced", headers={DEST: "trace disabled"})
        assert wire.sync() == []
        assert heard(listener) == ([b"only"] if implementation == "reference" else []) + [b"traced"]


def test_nothing_is_stored_or_acknowledged(js: JetStream, unique: str) -> None:
    js.create(unique, subjects=[f"{unique}.>"])
    inbox = js.wire.inbox()
    js.wire.pub(f"{unique}.a", "x", inbox, {DEST: "t.x", ONLY: "true"})
    assert js.wire.sync() == []
    assert js.publish(f"{unique}.a", "y", {DEST: "t.x"})["seq"] == 1
    assert js.info(unique)["state"]["messages"] == 1


def test_a_requester_learns_that_nobody_listens(js: JetStream, unique: str) -> None:
    inbox = js.wire.inbox()
    js.wire.pub(unique, "x", inbox, {DEST: "t.x", ONLY: "true"})
    assert js.wire.answer(inbox).status == "503"


@pytest.mark.parametrize("only", ["true", "false"])
def test_a_destination_that_is_denied(login: Login, unique: str, only: str) -> None:
    with login("all") as listener, login("few") as wire:
        listener.sub(unique)
        listener.sync()
        wire.pub(unique, "x", headers={DEST: "secret.trace", ONLY: only})
        assert wire.sync() == [b"-ERR 'Permissions Violation for Publish to \"secret.trace\"'"]
        assert heard(listener) == []


def test_a_broken_header_is_not_read(login: Login, unique: str) -> None:
    block = header_block({DEST: "t.x", ONLY: "true"}).replace(b"NATS/1.0", b"NATS/1.1")
    with login("all") as listener, login("all") as wire:
        listener.sub(unique)
        listener.sync()
        wire.send(f"HPUB {unique} {len(block)} {len(block)}\r\n".encode() + block + b"\r\n")
        assert wire.sync() == []
        assert len(heard(listener)) == 1
