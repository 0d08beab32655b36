"""More than a pair: two leafs on one hub, a chain, a loop, reversed roles, permissions, isolation.

Each shape with pyjs at every place beside the reference, and the reference alone as the measure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from lib.eventually import eventually
from lib.leaf_pair import heard, login
from lib.pool import START
from lib.process import ServerProcess
from lib.wire import Msg, Wire

ACCOUNTS = """
accounts {
    SYS: { users: [{user: admin, password: admin}] },
    ACC: { users: [
        {user: acc, password: acc}
        {user: narrow, password: narrow, permissions: {publish: "in.>", subscribe: "out.>"}}
    ] },
}
system_account: SYS
"""
SERVER = 'listen: 127.0.0.1:<client>\nserver_name: "@name@"\n' + ACCOUNTS
LISTENER = "listen: 127.0.0.1:<leaf>"
THREE = [("reference", "reference", "reference"), ("pyjs", "pyjs", "pyjs")] + [
    tuple("pyjs" if i == at else "reference" for i in range(3)) for at in range(3)
]

Start = Callable[..., ServerProcess]


@pytest.fixture
def start() -> Iterator[Start]:
    """start(implementation, name, remotes=…, listens=…): a server of a shape."""
    running: list[ServerProcess] = []

    def begin(
        implementation: str, name: str, *remotes: str, listens: str = "", more: str = ""
    ) -> ServerProcess:
        leafnodes = f"leafnodes {{ reconnect: 1\n{listens}\n{more}\nremotes: [{', '.join(remotes)}] }}"
        running.append(START[implementation](SERVER.replace("@name@", name) + leafnodes))
        return running[-1]

    yield begin
    for server in reversed(running):
        server.stop()


def to(hub: ServerProcess, more: str = "", user: str = "acc") -> str:
    """A remote that joins `hub`."""
    return f'{{ url: "nats-leaf://{user}:{user}@127.0.0.1:{hub.ports["leaf"]}", account: ACC, {more} }}'


def sids(wire: Wire) -> list[str]:
    return [f.sid for f in wire.sync() if isinstance(f, Msg)]


@pytest.mark.parametrize("kinds", THREE, ids="-".join)
def test_leafs_of_one_hub_hear_each_other(start: Start, kinds: tuple[str, str, str]) -> None:
    hub = start(kinds[0], "hub", listens=LISTENER)
    one, two = start(kinds[1], "one", to(hub)), start(kinds[2], "two", to(hub))
    with login(one) as here, login(two) as there, login(hub) as middle:
        heard(here, there, "up")
        heard(there, here, "up")
        for wire in (here, there, middle):
            wire.sub("news", "n")
            wire.sub("work", "w", "group")
            wire.sync()
        heard(there, here, "still.up")
        heard(middle, here, "still.up")
        here.pub("news", "x")
        here.pub("work", "y")
        assert sorted(sids(here)) == ["n", "w"]
        assert there.msg().sid == "n"
        assert middle.msg().sid == "n"
        heard(there, here, "after")
        assert sids(there) == []
        assert sids(middle) == []


@pytest.mark.parametrize("kinds", THREE, ids="-".join)
def test_a_chain_of_three_carries_requests_from_end_to_end(start: Start, kinds: tuple[str, str, str]) -> None:
    top = start(kinds[0], "top", listens=LISTENER)
    middle = start(kinds[1], "middle", to(top), listens=LISTENER)
    bottom = start(kinds[2], "bottom", to(middle))
    with login(top) as high, login(bottom) as low:
        heard(high, low, "up")
        heard(low, high, "up")
        for asks, answers, name in ((high, low, "low"), (low, high, "high")):
            answers.sub(f"svc.{name}", "s", "q")
            answers.sync()
            heard(asks, answers, "told")
            reply = asks.inbox()
            asks.pub(f"svc.{name}", "question", reply)
            question = answers.msg()
            assert (question.body, question.reply) == (b"question", reply)
            answers.pub(question.reply, "answer")
            assert asks.answer(reply).body == b"answer"


@pytest.mark.parametrize("kinds", THREE, ids="-".join)
def test_a_loop_is_found(start: Start, kinds: tuple[str, str, str]) -> None:
    """A joins B joins C joins A: somebody must see it, and say so."""
    a = start(kinds[0], "a", listens=LISTENER)
    b = start(kinds[1], "b", to(a), listens=LISTENER)
    c = start(kinds[2], "c", to(b), to(a))
    eventually(lambda: any("Loop detected for leafnode account=" in s.log() for s in (a, b, c)), 60)


@pytest.mark.parametrize("hub", ["reference", "pyjs"])
@pytest.mark.parametrize("leaf", ["reference", "pyjs"])
def test_a_remote_can_be_the_hub(start: Start, hub: str, leaf: str) -> None:
    """The solicitor as hub tells what another leaf of its hears, which a spoke would not tell upwards."""
    acceptor = start(leaf, "acceptor", listens=LISTENER)
    solicitor = start(hub, "solicitor", to(acceptor, "hub: true"))
    with login(acceptor) as there, login(solicitor) as here:
        heard(here, there, "up")
        heard(there, here, "up")


@pytest.mark.parametrize("hub", ["reference", "pyjs"])
@pytest.mark.parametrize("leaf", ["reference", "pyjs"])
def test_a_leaf_stays_within_its_users_permissions(start: Start, hub: str, leaf: str) -> None:
    above = start(hub, "above", listens=LISTENER)
    below = start(leaf, "below", to(above, user="narrow"))
    with login(above) as high, login(below) as low:
        heard(high, low, "in.a")
        heard(low, high, "out.a")
        high.sub(">", "all")
        low.sub(">", "all")
        high.sync()
        low.sync()
        heard(high, low, "in.sync")
        heard(low, high, "out.sync")
        high.sync()
        low.sync()
        low.pub("secret", "x")
        low.pub("in.b", "x")
        high.pub("private", "x")
        high.pub("out.b", "x")
        for wire, own in ((high, "private"), (low, "secret")):
            got = {m.subject for m in (wire.msg() for _ in range(3))}
            assert got == {own, "in.b", "out.b"}


@pytest.mark.parametrize("hub", ["reference", "pyjs"])
@pytest.mark.parametrize("leaf", ["reference", "pyjs"])
def test_deny_lists_of_a_remote_hold(start: Start, hub: str, leaf: str) -> None:
    above = start(hub, "above", listens=LISTENER)
    below = start(leaf, "below", to(above, 'deny_imports: "down.no.>", deny_exports: "up.no.>"'))
    with login(above) as high, login(below) as low:
        heard(high, low, "up.a")
        heard(low, high, "down.a")
        high.sub("up.>", "h")
        low.sub("down.>", "l")
        high.sync()
        low.sync()
        heard(high, low, "in.sync")
        heard(low, high, "in.sync")
        low.pub("up.no.a", "x")
        low.pub("up.yes", "x")
        high.pub("down.no.a", "x")
        high.pub("down.yes", "x")
        assert high.msg().subject == "up.yes"
        assert low.msg().subject == "down.yes"


@pytest.mark.parametrize("hub", ["reference", "pyjs"])
@pytest.mark.parametrize("leaf", ["reference", "pyjs"])
def test_isolated_leafs_do_not_hear_each_other(start: Start, hub: str, leaf: str) -> None:
    above = start(hub, "above", listens=LISTENER, more="isolate_leafnode_interest: true")
    one, two = start(leaf, "one", to(above)), start(leaf, "two", to(above))
    with login(above) as high, login(one) as here, login(two) as there:
        heard(high, here, "up")
        heard(high, there, "up")
        there.sub("news", "n")
        there.sync()
        heard(high, there, "in.sync")
        heard(there, high, "news.too")
        here.pub("news", "x")
        heard(high, here, "after")
        assert sids(there) == []
        high.pub("news", "y")
        assert there.msg().body == b"y"


@pytest.mark.parametrize("hub", ["reference", "pyjs"])
@pytest.mark.parametrize("leaf", ["reference", "pyjs"])
def test_a_refused_leaf_tries_again(start: Start, hub: str, leaf: str) -> None:
    above = start(hub, "above", listens=LISTENER)
    below = start(leaf, "below", to(above, user="nobody"))
    eventually(lambda: below.log().count("Authorization Violation") >= 2, 60)
    assert "nobody:nobody" not in below.log()


@pytest.mark.parametrize("leaf", ["reference", "pyjs"])
def test_a_leaf_starts_before_its_hub(start: Start, leaf: str) -> None:
    above = start("pyjs", "above", listens=LISTENER)
    above.end()
    below = start(leaf, "below", to(above))
    eventually(lambda: "Error trying to connect as leafnode" in below.log())
    above.launch()
    with login(above) as high, login(below) as low:
        heard(high, low, "up")
