"""Leaf connections between servers of one operator, in all four combinations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from lib.eventually import eventually
from lib.operator_fixture import OperatorAccount, OperatorEnv, User
from lib.pool import START
from lib.process import ServerProcess
from lib.wire import Msg, Wire

Start = Callable[[str, str], ServerProcess]
LISTENS = 'leafnodes { listen: "127.0.0.1:<leaf>" }'


@pytest.fixture
def start() -> Iterator[Start]:
    """start(implementation, configuration)"""
    running: list[ServerProcess] = []

    def begin(implementation: str, config: str) -> ServerProcess:
        running.append(START[implementation](config))
        return running[-1]

    yield begin
    for server in reversed(running):
        server.stop()


pytestmark = [
    pytest.mark.parametrize("hub", ["reference", "pyjs"]),
    pytest.mark.parametrize("leaf", ["reference", "pyjs"]),
]


class Pair:
    """A hub whose account A a server with the account LOCAL joins, by `user`'s credentials."""

    def __init__(self) -> None:
        self.env = OperatorEnv()
        self.a, self.local = self.env.account("A"), self.env.account("LOCAL")

    def above(self, start: Start, implementation: str) -> None:
        self.hub = start(implementation, self.env.full(self.a, more=LISTENS, timeout='"200ms"'))

    def below(
        self, start: Start, implementation: str, user: User, folder: Path, *known: OperatorAccount
    ) -> None:
        url = f"nats-leaf://127.0.0.1:{self.hub.ports['leaf']}"
        remote = f'{{ url: "{url}", account: {self.local.id}, credentials: "{user.write(folder)}" }}'
        more = f"leafnodes {{ reconnect: 1, remotes: [{remote}] }}"
        self.leaf = start(implementation, self.env.full(*known, more=more, timeout='"200ms"'))

    def joined(self) -> bool:
        """Whether a message comes from the hub's account to the leaf's."""
        with self.a.user().connect(self.hub) as high, self.local.user().connect(self.leaf) as low:
            low.sub("down.>")
            low.sync()
            return said(high, low)


def said(high: Wire, low: Wire) -> bool:
    """Whether what `high` says comes to `low`. The round to the hub and back may be the slower one."""
    high.pub("down.here", "x")
    high.sync()
    return any(isinstance(frame, Msg) for frame in low.sync())


def connected(pair: Pair) -> None:
    with pair.a.user().connect(pair.hub) as high, pair.local.user().connect(pair.leaf) as low:
        low.sub("down.>")
        low.sync()
        eventually(lambda: said(high, low))


def test_a_leaf_joins_by_its_credentials_until_they_are_revoked(
    start: Start, tmp_path: Path, hub: str, leaf: str
) -> None:
    pair = Pair()
    user = pair.a.user("leaf", allowed_connection_types=["LEAFNODE"])
    pair.above(start, hub)
    pair.below(start, leaf, user, tmp_path, pair.local)
    connected(pair)
    pair.a.claims.revoke(user.key.public_key, user.issued)
    pair.env.push(pair.hub, pair.a)
    eventually(lambda: "User Authentication Revoked" in pair.leaf.log())
    eventually(lambda: "Authorization Violation" in pair.leaf.log())
    assert not pair.joined()


def test_the_local_account_may_come_later(start: Start, tmp_path: Path, hub: str, leaf: str) -> None:
    pair = Pair()
    pair.above(start, hub)
    pair.below(start, leaf, pair.a.user("leaf"), tmp_path)
    pair.env.push(pair.leaf, pair.local)
    connected(pair)


@pytest.mark.parametrize("why", ["type", "limit", "expired"])
def test_refused(start: Start, tmp_path: Path, hub: str, leaf: str, why: str) -> None:
    pair = Pair()
    user = pair.a.user("leaf")
    said = "Authorization Violation"
    if why == "type":
        user = pair.a.user("leaf", allowed_connection_types=["STANDARD"])
    elif why == "expired":
        user = pair.a.user("leaf", exp=pair.env.started)
    else:
        pair.a.set(limits={"leaf": 0})
        said = "maximum account active connections exceeded"
    pair.above(start, hub)
    pair.below(start, leaf, user, tmp_path, pair.local)
    eventually(lambda: said in pair.leaf.log())
    assert not pair.joined()


def test_fewer_leafs_than_have_joined(start: Start, tmp_path: Path, hub: str, leaf: str) -> None:
    """The reference holds to a lower limit with the next leaf only, pyjs at once."""
    pair = Pair()
    pair.above(start, hub)
    pair.below(start, leaf, pair.a.user("leaf"), tmp_path, pair.local)
    connected(pair)
    pair.a.set(limits={"leaf": 0})
    pair.env.push(pair.hub, pair.a)
    if hub == "reference":
        connected(pair)
    else:
        eventually(lambda: "maximum account active connections exceeded" in pair.leaf.log())
