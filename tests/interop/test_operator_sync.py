"""Directories of account tokens that servers synchronize over their joined system accounts."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from lib.eventually import eventually
from lib.operator_fixture import UPDATE, OperatorAccount, OperatorEnv, ask
from lib.pool import START
from lib.process import ServerProcess
from lib.wire import Wire

pytestmark = [
    pytest.mark.parametrize("hub", ["reference", "pyjs"]),
    pytest.mark.parametrize("leaf", ["reference", "pyjs"]),
    pytest.mark.parametrize("link", ["leafnode", "route"]),
]


class Pair:
    """A hub, and a leaf that joins its system account (or cluster); each with a full directory of its own."""

    def __init__(self, hub: str, leaf: str, link: str, folder: Path) -> None:
        self.env = OperatorEnv()
        self.implementations = {"hub": hub, "leaf": leaf}
        self.link = link
        self.credentials = self.env.admin.write(folder)
        self.running: dict[str, ServerProcess] = {}

    def begin(self, name: str) -> ServerProcess:
        server = self.running.get(name)
        if server is not None:
            server.launch()
            return server
        more = self.listener() if name == "hub" else self.dialler()
        text = self.env.full(interval='"500ms"', allow_delete=True, more=more)
        started = START[self.implementations[name]](text.replace("server_name: S", f"server_name: {name}"))
        self.running[name] = started
        return started

    def listener(self) -> str:
        if self.link == "route":
            return "cluster { name: c, listen: 127.0.0.1:<joined>, no_advertise: true }"
        return "leafnodes { listen: 127.0.0.1:<joined>, no_advertise: true }"

    def dialler(self) -> str:
        place = f"127.0.0.1:{self.running['hub'].ports['joined']}"
        if self.link == "route":
            return f'cluster {{ name: c, listen: 127.0.0.1:<own>, routes: ["nats-route://{place}"] }}'
        account, credentials = self.env.sys.id, self.credentials
        remote = f'{{ url: "nats-leaf://{place}", account: {account}, credentials: "{credentials}" }}'
        return f"leafnodes {{ reconnect: 1, remotes: [{remote}] }}"

    def file(self, name: str, account: OperatorAccount) -> Path:
        return self.running[name].directory / "store" / "jwt" / f"{account.id}.jwt"

    def holds(self, name: str, account: OperatorAccount, token: str) -> bool:
        file = self.file(name, account)
        return file.exists() and file.read_text() == token

    def stop(self) -> None:
        for server in reversed(self.running.values()):
            server.stop()


@pytest.fixture
def pair(hub: str, leaf: str, link: str, tmp_path: Path) -> Iterator[Pair]:
    made = Pair(hub, leaf, link, tmp_path)
    yield made
    made.stop()


def test_a_server_that_comes_later_catches_up(pair: Pair) -> None:
    """Both ways: what the one lacks, what the other lacks, and of two tokens the newer."""
    both, only_hub, only_leaf = (pair.env.account(name) for name in ("BOTH", "HUB", "LEAF"))
    hub = pair.begin("hub")
    older, newer = both.token(), both.token()
    hub_token, leaf_token = only_hub.token(), only_leaf.token()
    pair.env.push(hub, older, hub_token)
    hub.end()
    leaf = pair.begin("leaf")
    pair.env.push(leaf, newer, leaf_token)
    pair.begin("hub")
    for name in ("hub", "leaf"):
        eventually(partial(pair.holds, name, only_hub, hub_token), 60)
        eventually(partial(pair.holds, name, only_leaf, leaf_token), 60)
        eventually(partial(pair.holds, name, both, newer), 60)


def test_a_damaged_file_is_filled_again_by_the_other_server(pair: Pair) -> None:
    account = pair.env.account("A")
    token = account.token()
    hub = pair.begin("hub")
    pair.env.push(hub, token)
    leaf = pair.begin("leaf")
    eventually(lambda: pair.holds("leaf", account, token), 60)
    leaf.end()
    pair.file("leaf", account).write_text(token[:50])
    pair.begin("leaf")
    eventually(lambda: pair.holds("leaf", account, token), 60)
    assert pair.holds("hub", account, token)


def test_a_deletion_reaches_both(pair: Pair) -> None:
    account = pair.env.account("A")
    hub = pair.begin("hub")
    pair.env.push(hub, account)
    pair.begin("leaf")
    eventually(lambda: pair.file("leaf", account).exists(), 60)
    pair.env.delete(hub, account)
    for name in ("hub", "leaf"):
        eventually(lambda name=name: not pair.file(name, account).exists())  # type: ignore[misc]
        deleted = pair.file(name, account)
        assert deleted.with_name(deleted.name + ".deleted").exists()
    assert account.id not in ask(hub, pair.env, "$SYS.REQ.CLAIMS.LIST")["data"]


def test_every_server_answers_a_push(pair: Pair) -> None:
    pair.begin("hub")
    leaf = pair.begin("leaf")
    account = pair.env.account("A")
    with pair.env.system(leaf) as wire:
        eventually(lambda: answering(wire, account) == {"hub", "leaf"}, 60)
    for server in pair.running.values():
        with account.user().connect(server) as client:
            assert client.sync() == []


def answering(wire: Wire, account: OperatorAccount) -> set[str]:
    """Who answers a push with "jwt updated"; waits for two answers."""
    reply = wire.inbox()
    wire.pub(UPDATE, account.token(), reply)
    names: set[str] = set()
    wire.sock.settimeout(1)
    try:
        while len(names) < 2:
            answer = wire.answer(reply).json()
            assert answer["data"]["message"] == "jwt updated"
            names.add(answer["server"]["name"])
    except TimeoutError:
        pass
    finally:
        wire.sock.settimeout(20)
    return names


def test_an_account_is_found_on_another_server_before_the_next_sync(pair: Pair) -> None:
    """A connection does not wait for directories to become alike."""
    account = pair.env.account("A")
    hub = pair.begin("hub")
    leaf = pair.begin("leaf")
    other = pair.env.account("B")
    with pair.env.system(leaf) as wire:
        eventually(lambda: answering(wire, other) == {"hub", "leaf"}, 60)
    token = account.token()
    (hub.directory / "store" / "jwt" / f"{account.id}.jwt").write_text(token)
    with account.user().connect(leaf) as client:
        assert client.sync() == []
    assert pair.holds("leaf", account, token)
