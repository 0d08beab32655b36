"""Leaf links under special rules, in all four combinations: reconnect, deny lists, loops, shared accounts."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from lib.eventually import eventually
from lib.leaf_pair import ACCOUNTS, COMBINATIONS, HUB, LEAF, SHARED, Pair, api, combined, heard, login
from lib.pool import START
from lib.wire import Wire

Join = Callable[..., Pair]


@pytest.fixture(params=COMBINATIONS, ids=combined)
def join(request: pytest.FixtureRequest) -> Iterator[Join]:
    """join(hub_config, leaf_config): a pair for this test alone, joined."""
    hub, leaf = request.param
    pairs: list[Pair] = []

    def start(hub_config: str = HUB + ACCOUNTS, leaf_config: str = LEAF + ACCOUNTS) -> Pair:
        pairs.append(Pair(hub, leaf, hub_config, leaf_config))
        pairs[-1].joined()
        return pairs[-1]

    yield start
    for pair in pairs:
        pair.close()


@pytest.mark.parametrize("join", [("pyjs", "reference"), ("pyjs", "pyjs")], indirect=True, ids="-".join)
def test_the_link_heals_and_copies_go_on_without_gap_or_duplicate(join: Join) -> None:
    """The hub copies. (The reference as hub passes too, but asks its origin again only after 10 to 20 s.)"""
    pair = join()
    external = {"name": "T", "external": {"api": "$JS.leaf.API", "deliver": ""}}
    with api(pair.hub) as here:
        with api(pair.leaf) as there:
            there.create("T", storage="file")
            there.fill("T", 5)
        here.create("M", storage="file", mirror=external)
        here.create("C", storage="file", sources=[external])
        eventually(lambda: here.state("M")["messages"] == here.state("C")["messages"] == 5)
        pair.leaf.crash()
        pair.leaf.launch()
        with api(pair.leaf) as there:
            there.fill("T", 5)
            pair.joined()
            there.fill("T", 5)
            eventually(lambda: here.state("M")["messages"] == here.state("C")["messages"] == 15, 60)
            assert here.state("M")["last_seq"] == here.state("C")["last_seq"] == 15
            for seq in range(1, 16):
                assert here.get("M", seq=seq) == there.get("T", seq=seq)
                assert here.get("C", seq=seq)["data"] == there.get("T", seq=seq)["data"]


def test_the_leaf_restarts_and_local_work_goes_on_while_alone(join: Join) -> None:
    pair = join()
    pair.hub.kill()
    with api(pair.leaf) as js:
        js.create("ALONE")
        assert js.publish("ALONE")["domain"] == "leaf"
    pair.hub.launch()
    pair.joined()
    pair.leaf.restart()
    pair.joined()


@pytest.mark.parametrize("list_", ["deny_imports", "deny_exports"])
def test_deny_lists_hold(join: Join, list_: str) -> None:
    remote = 'nats-leaf://acc:acc@127.0.0.1:@hub@"], account: "ACC"'
    pair = join(leaf_config=LEAF.replace(remote, f'{remote}, {list_}: ["private.>"]') + ACCOUNTS)
    with login(pair.hub) as hub, login(pair.leaf) as leaf:
        sender, listener = (hub, leaf) if list_ == "deny_imports" else (leaf, hub)
        listener.sub("private.a", "1")
        listener.sub("public.a", "2")
        listener.sync()
        heard(listener, sender, "public.b")
        sender.pub("private.a", "no")
        sender.pub("public.a", "yes")
        assert listener.msg().body == b"yes"


def test_accounts_without_a_link_stay_apart(join: Join) -> None:
    pair = join(HUB + SHARED, LEAF + SHARED)
    with login(pair.hub, "import_client") as here, login(pair.leaf, "import_client") as there:
        here.sub("secret")
        here.sync()
        there.pub("secret", "x")
        there.sync()
        with login(pair.hub) as hub, login(pair.leaf) as leaf:
            heard(hub, leaf, "wait.for.the.link")
        assert here.sync() == []


def test_a_pull_consumer_is_shared_with_another_account_across_the_link(join: Join) -> None:
    pair = join(HUB + SHARED, LEAF + SHARED)
    with api(pair.hub) as js:
        js.create("aggregate-test-leaf", subjects=["test"], storage="file")
        js.fill("test", 3)
        js.consumer("aggregate-test-leaf", "dur")
        with api(pair.leaf, "import_client", "JS.acc@hub.API") as client:
            eventually(lambda: _asks(client.wire))
            messages, end = client.pull("aggregate-test-leaf", "dur", 2, expires=10_000_000_000)
            assert [m.subject for m in messages] == ["test", "test"]
            assert end == ""
            assert messages[0].reply.startswith("$JS.ACK.aggregate-test-leaf.dur.")
            for message in messages:
                client.wire.pub(message.reply, "+ACK")
            client.wire.sync()
            acked = len(messages) + 1
            eventually(
                lambda: js.consumer_info("aggregate-test-leaf", "dur")["ack_floor"]["stream_seq"] == acked
            )


def _asks(wire: Wire) -> bool:
    """Pull one message through the import and ack it; False while there is no way."""
    subject = "JS.acc@hub.API.CONSUMER.MSG.NEXT.aggregate-test-leaf.dur"
    wire.pub(subject, b'{"batch":1,"expires":2000000000}', wire.inbox())
    message = wire.msg()
    if not message.reply.startswith("$JS.ACK"):
        return False
    wire.pub(message.reply, "+ACK")
    return True


def test_a_copy_is_made_in_another_account_across_the_link(join: Join) -> None:
    pair = join(HUB + SHARED, LEAF + SHARED)
    with api(pair.hub) as js:
        js.create("aggregate-test-leaf", subjects=["test"], storage="file")
        js.fill("test", 3)
        external = {"api": "JS.acc@hub.API", "deliver": "deliver.acc.hub.import_mirror"}
        with api(pair.leaf, "import_mirror") as importer:
            importer.create(
                "copy", storage="file", mirror={"name": "aggregate-test-leaf", "external": external}
            )
            eventually(lambda: importer.state("copy")["messages"] == 3, 60)
            js.fill("test", 2)
            eventually(lambda: importer.state("copy")["messages"] == 5, 60)
            assert importer.get("copy", seq=5) == js.get("aggregate-test-leaf", seq=5)


@pytest.mark.parametrize("implementation_", ["reference", "pyjs"])
def test_a_server_that_joins_itself_finds_the_loop(implementation_: str) -> None:
    config = """
    listen: 127.0.0.1:<client>
    server_name: self
    leafnodes {
        listen: 127.0.0.1:<leaf>
        remotes: [{ url: "nats-leaf://127.0.0.1:<leaf>" }]
    }
    """
    server = START[implementation_](config)
    try:
        eventually(lambda: "oop" in server.log() or "same cluster name" in server.log())
        with server.connect() as wire:
            wire.sub("x")
            wire.pub("x", "once")
            assert len(wire.sync()) == 1
    finally:
        server.stop()
