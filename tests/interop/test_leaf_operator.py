"""Leaf connections in operator mode, by credentials: pyjs and the reference, each as hub and as leaf."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from lib.eventually import eventually
from lib.jetstream import JetStream
from lib.leaf_pair import heard
from lib.operator_fixture import UPDATE, OperatorAccount, OperatorEnv, User, soon
from lib.pool import START, Pool
from lib.process import ServerProcess
from lib.wire import Msg, Wire

pytestmark = [
    pytest.mark.parametrize("hub", ["reference", "pyjs"]),
    pytest.mark.parametrize("leaf", ["reference", "pyjs"]),
]
LISTENER = "leafnodes { listen: 127.0.0.1:<leaf>, no_advertise: true }"


class Pair:
    """The module's hub, with an account of the test's own, and the leafs that dial it."""

    def __init__(self, env: OperatorEnv, hub: ServerProcess, folder: Path) -> None:
        self.env = env
        self.hub = hub
        self.account = env.account("TEST", jetstream=True)
        self.folder = folder
        self.running: list[ServerProcess] = []
        env.push(hub, self.account)

    def begin(self, implementation: str, config: str) -> ServerProcess:
        self.running.append(START[implementation](config))
        return self.running[-1]

    def remote(self, user: User, account: str) -> str:
        url = f"nats-leaf://127.0.0.1:{self.hub.ports['leaf']}"
        return f'{{ url: "{url}", account: {account}, credentials: "{user.write(self.folder)}" }}'

    def plain(self, implementation: str, user: User) -> ServerProcess:
        """A leaf without an operator, whose account ACC joins."""
        accounts = "accounts { ACC: { users: [{user: acc, password: acc}] } }\n"
        rest = f"leafnodes {{ reconnect: 1, remotes: [{self.remote(user, 'ACC')}] }}"
        return self.begin(implementation, f"listen: 127.0.0.1:<client>\nserver_name: leaf\n{accounts}{rest}")

    def same_operator(self, implementation: str, *, system: bool = False) -> ServerProcess:
        """A leaf of the same operator that joins TEST, and SYS if asked."""
        remotes = [self.remote(self.account.user("leaf"), self.account.id)]
        if system:
            remotes.append(self.remote(self.env.admin, self.env.sys.id))
        more = f"leafnodes {{ reconnect: 1, remotes: [{', '.join(remotes)}] }}\n" + jetstream("spoke")
        text = self.env.full(self.account, allow_delete=True, more=more)
        return self.begin(implementation, text.replace("server_name: S", "server_name: leaf"))

    def stop(self) -> None:
        for server in reversed(self.running):
            server.stop()


def jetstream(domain: str) -> str:
    return f'\njetstream {{ store_dir: "<store>", domain: {domain} }}\n'


@pytest.fixture(scope="module")
def operated() -> tuple[OperatorEnv, str]:
    """The module's operator, and the configuration of its hubs."""
    env = OperatorEnv(signing=True)
    text = env.full(allow_delete=True, timeout='"200ms"', more=LISTENER + jetstream("hub"))
    return env, text.replace("server_name: S", "server_name: hub")


@pytest.fixture
def pair(
    operated: tuple[OperatorEnv, str], hub: str, leaf: str, pool: Pool, tmp_path: Path
) -> Iterator[Pair]:
    env, config = operated
    made = Pair(env, pool.get(hub, config), tmp_path)
    yield made
    made.stop()


def acc(server: ServerProcess) -> Wire:
    return server.connect(**{"user": "acc", "pass": "acc"})


def deserted(wire: Wire, subject: str) -> bool:
    """Whether nobody at all is known to listen to `subject`."""
    wire.pub(subject, "x", wire.inbox())
    return any(isinstance(frame, Msg) and frame.status == "503" for frame in wire.sync())


def test_a_leaf_joins_with_credentials(pair: Pair, leaf: str) -> None:
    below = pair.plain(leaf, pair.account.user("leaf"))
    with pair.account.user().connect(pair.hub) as high, acc(below) as low:
        heard(high, low, "up")
        heard(low, high, "down")


def test_a_leafs_permissions_are_those_of_its_user(pair: Pair, leaf: str) -> None:
    user = pair.account.user("leaf", pub={"allow": ["up.>"]}, sub={"allow": ["down.>"]})
    below = pair.plain(leaf, user)
    with pair.account.user().connect(pair.hub) as high, acc(below) as low:
        heard(high, low, "up.a")
        heard(low, high, "down.a")
        # What may not pass would have come first.
        for here, there, subject in ((high, low, "up.b"), (low, high, "down.b")):
            here.sub("other", "1")
            here.sub(subject, "2")
            here.sync()
            heard(here, there, subject)
            there.pub("other", "x")
            there.pub(subject, "y")
            got = [here.msg().body]
            while got[-1] != b"y":
                got.append(here.msg().body)
            assert b"x" not in got


@pytest.mark.parametrize("fault", ["expired", "stranger", "type"])
def test_a_leaf_that_is_refused(pair: Pair, leaf: str, fault: str) -> None:
    made: dict[str, Callable[[], User]] = {
        "expired": lambda: pair.account.user("leaf", exp=soon(-3600)),
        "stranger": lambda: OperatorEnv().account("TEST").user("leaf"),
        "type": lambda: pair.account.user("leaf", allowed_connection_types=["STANDARD"]),
    }
    below = pair.plain(leaf, made[fault]())
    eventually(lambda: "Authorization Violation" in below.log())
    with pair.account.user().connect(pair.hub) as high, acc(below) as low:
        low.sub("up")
        low.sync()
        assert deserted(high, "up")


def test_a_leaf_of_the_allowed_type(pair: Pair, leaf: str) -> None:
    below = pair.plain(leaf, pair.account.user("leaf", allowed_connection_types=["LEAFNODE"]))
    with pair.account.user().connect(pair.hub) as high, acc(below) as low:
        heard(low, high, "up")


def test_a_revoked_leaf_is_sent_away(pair: Pair, leaf: str) -> None:
    user = pair.account.user("leaf")
    below = pair.plain(leaf, user)
    with pair.account.user().connect(pair.hub) as high, acc(below) as low:
        heard(low, high, "up")
        pair.account.claims.revoke(user.key.public_key, user.issued)
        pair.env.push(pair.hub, pair.account)
        low.sub("gone")
        low.sync()
        eventually(lambda: deserted(high, "gone"))
        eventually(lambda: "Authorization Violation" in below.log() or "Revoked" in below.log())


def test_an_account_that_is_granted_no_leaf(pair: Pair, leaf: str) -> None:
    pair.account.set(limits={"leaf": 0})
    pair.env.push(pair.hub, pair.account)
    below = pair.plain(leaf, pair.account.user("leaf"))
    eventually(lambda: "maximum account active connections exceeded" in below.log().lower())
    with pair.account.user().connect(pair.hub) as high, acc(below) as low:
        low.sub("up")
        low.sync()
        assert deserted(high, "up")


def test_both_ends_in_operator_mode(pair: Pair, leaf: str) -> None:
    below = pair.same_operator(leaf)
    user = pair.account.user()
    with user.connect(pair.hub) as high, user.connect(below) as low:
        heard(high, low, "up")
        heard(low, high, "down")
    with JetStream(user.connect(pair.hub), "$JS.spoke.API") as js:
        eventually(lambda: js.raw("INFO").body != b"")
        js.create("S", subjects=["s"])
        assert js.call("INFO")["domain"] == "spoke"
        js.publish("s", "x")


def test_a_push_reaches_the_servers_beyond_the_leaf_connection(pair: Pair, leaf: str) -> None:
    """One answer from each server, when the system accounts are joined as in the video."""
    below = pair.same_operator(leaf, system=True)
    account = pair.env.account("NEW")
    with pair.env.system(pair.hub) as wire:
        eventually(lambda: len(names(wire, pair.env, pair.account)) == 2)
        assert names(wire, pair.env, account) == {"hub", "leaf"}
    for server in (pair.hub, below):
        with account.user().connect(server) as client:
            assert client.sync() == []


def names(wire: Wire, env: OperatorEnv, account: OperatorAccount) -> set[str]:
    """Who answers a push with "jwt updated"; asks for at most two answers."""
    reply = wire.inbox()
    wire.pub(UPDATE, account.token(), reply)
    answers: dict[str, str] = {}
    try:
        wire.sock.settimeout(1)
        while len(answers) < 2:
            answer = json.loads(wire.answer(reply).body)
            answers[answer["server"]["name"]] = answer["data"]["message"]
    except TimeoutError:
        pass
    finally:
        wire.sock.settimeout(20)
    return {name for name, message in answers.items() if message == "jwt updated"}


def test_an_account_is_looked_up_beyond_the_leaf_connection(pair: Pair, leaf: str) -> None:
    account = pair.env.account("NEW")
    pair.env.push(pair.hub, account)
    below = pair.same_operator(leaf, system=True)
    eventually(lambda: connects(account.user(), below), 60)


def connects(user: User, server: ServerProcess) -> bool:
    try:
        user.connect(server).close()
    except ConnectionError:
        return False
    return True
