"""The documentation's second accounts: another account copies a stream of ACC, a third reads a durable pull
consumer of it, on the leaf's side too; and all of that goes on after the link was cut.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator

import pytest
from lib.eventually import eventually
from lib.jetstream import JetStream
from lib.leaf_pair import COMBINATIONS, HUB, LEAF, SHARED, Pair, api, combined, login
from lib.wire import Msg

FROM_LEAF = {"name": "test", "external": {"api": "$JS.leaf.API", "deliver": ""}}
AGGREGATE = "aggregate-test-leaf"
COPY = "aggregate-test-leaf-from-acc"


@pytest.fixture(params=COMBINATIONS, ids=combined)
def combination(request: pytest.FixtureRequest) -> tuple[str, str]:
    found: tuple[str, str] = request.param
    return found


@pytest.fixture
def pair(combination: tuple[str, str]) -> Iterator[Pair]:
    pair = Pair(*combination, HUB + SHARED, LEAF + SHARED)
    try:
        pair.joined()
        yield pair
    finally:
        pair.close()


def aggregate(pair: Pair) -> JetStream:
    """ACC at the hub, with `test` on the leaf and its copy `aggregate-test-leaf` here, one message each."""
    js = api(pair.hub, prefix="$JS.hub.API")
    with api(pair.hub, prefix="$JS.leaf.API") as far:
        eventually(lambda: far.raw("INFO").status == "")
        far.create("test", storage="file")
        eventually(lambda: js.wire.request("test", "hello world").status == "")
        js.create(AGGREGATE, storage="file", sources=[FROM_LEAF])
        eventually(lambda: js.state(AGGREGATE)["messages"] == 1)
    return js


def bodies(js: JetStream, stream: str) -> list[str]:
    """What the stream holds, in order, by its sequences."""
    last = js.state(stream)["last_seq"]
    return [base64.b64decode(js.get(stream, seq=seq)["data"]).decode() for seq in range(1, last + 1)]


def status(js: JetStream, subject: str) -> str:
    """The status of a request: "503" at once when nobody heard it, else ""."""
    js.wire.pub(subject, b"", js.wire.inbox())
    return next((f.status for f in js.wire.sync() if isinstance(f, Msg)), "")


def test_another_account_copies_across_accounts_and_domains(pair: Pair) -> None:
    external = {"api": "JS.acc@hub.API", "deliver": f"deliver.acc.hub.import_mirror.hub.{COPY}"}
    with aggregate(pair) as js, api(pair.hub, "import_mirror", "$JS.hub.API") as other:
        created = other.create(COPY, storage="file", mirror={"name": AGGREGATE, "external": external})
        assert created["config"]["mirror"]["external"] == external
        eventually(lambda: other.state(COPY)["messages"] == 1)
        assert other.get(COPY, seq=1) == js.get(AGGREGATE, seq=1)
        for i in range(10):
            js.wire.request("test", str(i))
        eventually(lambda: other.state(COPY)["messages"] == 11)
        assert bodies(other, COPY) == ["hello world", *map(str, range(10))]
        assert other.info(COPY)["mirror"]["lag"] == 0


@pytest.mark.parametrize("at", ["hub", "leaf"])
def test_a_durable_pull_consumer_is_used_through_an_import(pair: Pair, at: str) -> None:
    with aggregate(pair) as js, api(getattr(pair, at), "import_client", "JS.acc@hub.API") as client:
        js.consumer(AGGREGATE, "dur")

        (message,), _ = client.pull(AGGREGATE, "dur")
        assert (message.subject, message.body) == ("test", b"hello world")
        assert message.headers is not None
        assert message.headers["Nats-Stream-Source"].startswith("test:mSx7q4yJ 1")
        assert message.reply.startswith(f"$JS.ACK.{AGGREGATE}.dur.1.1.1.")
        client.wire.pub(message.reply, "+ACK")
        eventually(lambda: js.consumer_info(AGGREGATE, "dur")["ack_floor"]["stream_seq"] == 1)
        js.wire.request("test", "hello world 2")
        (second,), _ = client.pull(AGGREGATE, "dur")
        assert second.body == b"hello world 2"
        assert second.reply.startswith(f"$JS.ACK.{AGGREGATE}.dur.1.2.2.")


# A restarted hub of the reference takes three quarters of a minute for it: too long for a test.
@pytest.mark.parametrize("combination", [("pyjs", "pyjs"), ("pyjs", "reference")])
def test_a_cut_leaves_no_gap_and_no_duplicate(pair: Pair) -> None:
    with aggregate(pair) as js:
        js.create("backup-test-leaf", storage="file", mirror=FROM_LEAF)
        eventually(lambda: js.state("backup-test-leaf")["messages"] == 1)
        pair.hub.end()
        with api(pair.leaf, prefix="$JS.leaf.API") as offline:
            for i in range(20):
                offline.publish("test", f"offline {i}")
        pair.hub.launch()
    expected = ["hello world", *(f"offline {i}" for i in range(20))]
    with api(pair.hub, prefix="$JS.hub.API") as js:
        for name in ("backup-test-leaf", AGGREGATE):
            eventually(lambda name=name: js.state(name)["messages"] >= 21, 30)  # type: ignore[misc]
            assert bodies(js, name) == expected


@pytest.mark.parametrize(
    "combination", [each for each in COMBINATIONS if "pyjs" in each], ids=combined, indirect=True
)
def test_copies_go_on_when_the_leaf_was_killed(pair: Pair) -> None:
    """The reference alone passes, too, after its own twenty seconds."""
    with aggregate(pair) as js:
        pair.leaf.crash()
        eventually(lambda: status(js, "$JS.leaf.API.INFO") == "503")
        pair.leaf.launch()
        eventually(lambda: status(js, "$JS.leaf.API.INFO") == "", 60)
        for i in range(20):
            with login(pair.leaf) as there:
                assert there.request("test", f"after {i}").json()["domain"] == "leaf"
        eventually(lambda: js.state(AGGREGATE)["messages"] == 21, 60)
        assert bodies(js, AGGREGATE) == ["hello world", *(f"after {i}" for i in range(20))]
