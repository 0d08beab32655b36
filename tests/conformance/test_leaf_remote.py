"""The leaf protocol by hand: a raw hub that the server's remote dials."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from lib.eventually import eventually
from lib.leaf_wire import LeafWire
from lib.process import ServerProcess
from lib.wire import Wire

REMOTE = """
listen: 127.0.0.1:<client>
server_name: R
jetstream { store_dir: "<store>", domain: leaf, max_mem: 10MB, max_file: 10MB }
accounts { A { users: [{ user: a, password: p }], jetstream: enabled } }
leafnodes {
  reconnect: 1
  remotes: [{
    url: "nats-leaf://u:secret@127.0.0.1:@hub@", account: A
    deny_imports: ["no.import"], deny_exports: ["no.export"]
  }]
}
"""
HUB_INFO = {
    "server_id": "NHUB",
    "server_name": "H",
    "version": "2.15.1",
    "proto": 3,
    "headers": True,
    "auth_required": True,
    "max_payload": 1048576,
    "client_id": 5,
    "nonce": "abcdefghijklmno",
    "domain": "hub",
    "jetstream": True,
    "info_on_connect": True,
    "leafnode_urls": [],
    "cluster": "H",
}


class FakeHub:
    """A hub by hand: takes the remote's connections, closes them all at the end."""

    def __init__(self, sock: socket.socket) -> None:
        sock.settimeout(10)
        self.sock = sock
        self.port = int(sock.getsockname()[1])
        self.links: list[LeafWire] = []

    def accept(self, **more: Any) -> tuple[LeafWire, dict[str, Any]]:
        """Take the remote's connection: (the link, the remote's CONNECT). more: what INFO says besides."""
        sock, _ = self.sock.accept()
        wire = LeafWire(sock)
        self.links.append(wire)
        info = HUB_INFO | more
        wire.send("INFO " + json.dumps(info) + " \r\n")
        connect = json.loads(wire.until("CONNECT ")[8:])
        received = info | {"connect_info": True, "remote_account": "HUBACC"}
        wire.send("INFO " + json.dumps(received) + " \r\n")
        return wire, connect


@pytest.fixture
def hub() -> Iterator[FakeHub]:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        fake = FakeHub(sock)
        yield fake
        for link in fake.links:
            link.close()


@pytest.fixture
def remote(launch: Callable[[str], ServerProcess], hub: FakeHub) -> ServerProcess:
    return launch(REMOTE.replace("@hub@", str(hub.port)))


def test_a_remote_logs_in(remote: ServerProcess, hub: FakeHub) -> None:
    wire, connect = hub.accept()
    assert (connect["user"], connect["pass"]) == ("u", "secret")
    assert connect["name"] == "R"
    assert connect["cluster"] == "R"
    assert connect["domain"] == "leaf"
    assert connect["remote_account"] == "A"
    assert connect["headers"] is True
    assert connect["jetstream"] is True
    assert connect["deny_pub"] == ["no.import"]
    assert len(connect["server_id"]) == 56
    assert "lang" not in connect
    assert not connect.get("is_hub", False)
    lines = wire.lines_until_pong()
    interest = {line.removeprefix("LS+ ") for line in lines}
    assert "$JS.leaf.API.INFO" in interest
    assert "$JS.leaf.API.CONSUMER.>" in interest
    assert "$JS.API.>" not in interest
    assert any(subject.startswith("$LDS.") for subject in interest)


def test_a_remote_with_a_tls_url_sends_nothing_in_the_clear(
    launch: Callable[[str], ServerProcess], hub: FakeHub, implementation: str
) -> None:
    """The reference sends CONNECT with the password. pyjs takes no addresses from such an INFO, either."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        info = HUB_INFO | {"leafnode_urls": [f"127.0.0.1:{other.getsockname()[1]}"]}
        launch(REMOTE.replace("nats-leaf://", "tls://").replace("@hub@", str(hub.port)))
        for _ in range(2 if implementation == "pyjs" else 1):
            sock, _ = hub.sock.accept()
            with sock:
                sock.sendall(f"INFO {json.dumps(info)} \r\n".encode())
                assert sock.recv(1) == (b"\x16" if implementation == "pyjs" else b"C")
        other.setblocking(False)
        if implementation == "pyjs":
            with pytest.raises(BlockingIOError):
                other.accept()


def test_a_remote_stays_with_tls_once_its_hub_asked_for_it(remote: ServerProcess, hub: FakeHub) -> None:
    for info in (HUB_INFO | {"tls_required": True}, HUB_INFO):
        sock, _ = hub.sock.accept()
        with sock:
            sock.sendall(f"INFO {json.dumps(info)} \r\n".encode())
            assert sock.recv(1) == b"\x16"  # a TLS record, not CONNECT


@pytest.mark.parametrize("later", [False, True], ids=["at once", "later"])
@pytest.mark.parametrize("ignores", [False, True], ids=["dials", "ignores"])
def test_a_remote_learns_of_other_servers(
    launch: Callable[[str], ServerProcess], hub: FakeHub, ignores: bool, later: bool
) -> None:
    """`ignore_discovered_servers`: it dials the configured address again, and no other."""
    config = REMOTE.replace("@hub@", str(hub.port))
    if ignores:
        config = config.replace("account: A\n", "account: A, ignore_discovered_servers: true\n")
    launch(config)
    with socket.create_server(("127.0.0.1", 0)) as other:
        urls = {"leafnode_urls": [f"127.0.0.1:{other.getsockname()[1]}"]}
        wire, _ = hub.accept(**({} if later else urls))
        wire.lines_until_pong()
        if later:
            wire.send("INFO " + json.dumps(HUB_INFO | urls) + " \r\n")
            wire.lines_until_pong()
        wire.close()
        other.settimeout(10)
        again, without = (hub.sock, other) if ignores else (other, hub.sock)
        again.accept()[0].close()
        without.setblocking(False)
        with pytest.raises(BlockingIOError):
            without.accept()


def test_every_so_many_attempts_after_a_lost_connection_are_errors(
    launch: Callable[[str], ServerProcess], hub: FakeHub
) -> None:
    more = "reconnect_error_reports: 2\ndebug: true\n"
    server = launch(
        more + REMOTE.replace("reconnect: 1", 'reconnect: "100ms"').replace("@hub@", str(hub.port))
    )
    wire, _ = hub.accept()
    wire.lines_until_pong()
    hub.sock.close()
    wire.close()

    def attempts(level: str) -> list[int]:
        return [int(n) for n in re.findall(rf"\[{level}\] .*\(attempt (\d+)\)", server.log())]

    eventually(lambda: len({*attempts("ERR"), *attempts("DBG")}) >= 4)
    assert attempts("ERR")[:3] == [1, 2, 4]
    assert attempts("DBG")[0] == 3


def test_a_remote_serves_its_domain(remote: ServerProcess, hub: FakeHub) -> None:
    wire, _ = hub.accept()
    wire.lines_until_pong()
    wire.send("LMSG $JS.leaf.API.INFO back.here 0\r\n\r\n")
    wire.send("LS+ back.here\r\nLMSG $JS.leaf.API.INFO back.here 0\r\n\r\n")
    assert wire.until("LMSG back.here")
    assert json.loads(wire.line())["domain"] == "leaf"


def test_a_remote_sends_local_interest_and_withholds_the_denied(remote: ServerProcess, hub: FakeHub) -> None:
    wire, _ = hub.accept()
    wire.lines_until_pong()
    with Wire.connected(remote.port, **{"user": "a", "pass": "p"}) as client:
        client.sub("no.import", "1")
        client.sub("$JS.API.STREAM.NAMES", "2")
        client.sub("yes", "3")
        assert wire.line() == "LS+ yes"
        wire.send("LS+ no.export\r\nLS+ $JS.API.>\r\nLS+ ok\r\n")
        wire.lines_until_pong()
        client.pub("no.export", "x")
        client.pub("$JS.API.STREAM.NAMES", "")
        client.pub("ok", "y")
        assert wire.until("LMSG") == "LMSG ok 1"


def test_a_remote_comes_back_and_sends_its_interest_again(remote: ServerProcess, hub: FakeHub) -> None:
    wire, _ = hub.accept()
    wire.lines_until_pong()
    with Wire.connected(remote.port, **{"user": "a", "pass": "p"}) as client:
        client.sub("kept", "1")
        wire.until("LS+ kept")
        wire.close()
        again, _ = hub.accept()
        assert "LS+ kept" in again.lines_until_pong()
        again.send("LMSG kept 2\r\nhi\r\n")
        assert client.msg().body == b"hi"


def test_a_remote_shows_the_subject_that_travels_in_the_reply(remote: ServerProcess, hub: FakeHub) -> None:
    wire, _ = hub.accept()
    wire.lines_until_pong()
    with Wire.connected(remote.port, **{"user": "a", "pass": "p"}) as client:
        client.sub("to.me", "1")
        wire.until("LS+ to.me")
        wire.send("LMSG to.me $JS.ACK.S.C.1.1.1.1.0@orders.new 2\r\nhi\r\n")
        message = client.msg()
    assert (message.subject, message.reply, message.body) == ("orders.new", "$JS.ACK.S.C.1.1.1.1.0", b"hi")
