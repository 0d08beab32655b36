"""Reading streams of another domain or account: over a leaf node, and through an import of its API."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from lib.eventually import eventually
from lib.process import ServerProcess
from lib.ranges import ODD_PAYLOADS, create, fill, rows, sequences, store
from pyjs.client import BlockingConnection, ClientError, ConnectionOptions, NoResponders
from pyjs.pipeline.jetstream import JetStreamRequests, StreamRange
from pyjs.pipeline.jetstream.api import domain_prefix

HUB = """
listen: 127.0.0.1:<client>
server_name: HUB
jetstream { store_dir: "<store>", domain: hub, max_mem: 100MB, max_file: 100MB }
leafnodes { listen: 127.0.0.1:<leaf> }
"""
LEAF = """
listen: 127.0.0.1:<client>
server_name: LEAF
jetstream { store_dir: "<store>", domain: leaf, max_mem: 100MB, max_file: 100MB }
leafnodes { reconnect: 1, remotes: [ { url: "nats-leaf://127.0.0.1:%d" } ] }
"""
SHARED = """
listen: 127.0.0.1:<client>
jetstream { store_dir: "<store>", max_mem: 100MB, max_file: 100MB }
accounts {
  A { jetstream: enabled, users: [{ user: a, password: a }]
      exports: [{ service: "$JS.API.>", response_type: stream }] }
  B { users: [{ user: b, password: b }]
      imports: [{ service: { account: A, subject: "$JS.API.>" }, to: "from.A.API.>" }] }
}
"""
WAYS = {"consumer": {}, "direct": {"retention": "workqueue", "allow_direct": True}}


def answers(api: JetStreamRequests) -> bool:
    try:
        return "api" in api.call("INFO")
    except ClientError:
        return False


@pytest.mark.parametrize("way", WAYS)
def test_a_domain_beyond_a_leaf_node(launch: Callable[[str], ServerProcess], way: str) -> None:
    hub = launch(HUB)
    leaf = launch(LEAF % hub.ports["leaf"])
    with (
        BlockingConnection.open(ConnectionOptions((leaf.url,))) as connection,
        BlockingConnection.open(ConnectionOptions((hub.url,))) as at_hub,
    ):
        far = JetStreamRequests(connection, domain_prefix("hub"))
        eventually(lambda: answers(far))
        create(JetStreamRequests(at_hub), "S", **WAYS[way])
        fill(JetStreamRequests(at_hub), "S", 700)
        store(JetStreamRequests(at_hub), "S.h", b"h", {"A": ["1", "2"]})
        assert far.streams() == ["S"]
        assert JetStreamRequests(connection).streams() == []
        found = rows(far, StreamRange("S", 1, 702), headers=True, domain="hub")
        assert [row["sequence"] for row in found] == list(range(1, 702))
        assert [row["subject"] for row in found] == [*["S.a", "S.b"] * 350, "S.h"]
        assert found[-1]["headers"] == [("A", ["1", "2"])]
        assert sequences(far, StreamRange("S", 1, 702, ("S.b",))) == list(range(2, 701, 2))
        with pytest.raises(NoResponders, match=r"\$JS.nowhere.API"):
            JetStreamRequests(connection, domain_prefix("nowhere")).stream("S")


@pytest.mark.parametrize("way", WAYS)
def test_another_accounts_streams(serve: Callable[[str], ServerProcess], way: str, unique: str) -> None:
    server = serve(SHARED)
    with (
        BlockingConnection.open(ConnectionOptions((server.url,), user="a", password="a")) as owner,
        BlockingConnection.open(
            ConnectionOptions((server.url,), user="b", password="b", timeout=1)
        ) as connection,
    ):
        create(JetStreamRequests(owner), unique, **WAYS[way])
        # An empty payload ends the answers that an import lets through.
        for payload in ODD_PAYLOADS:
            store(JetStreamRequests(owner), f"{unique}.x", payload)
        fill(JetStreamRequests(owner), unique, 300)
        api = JetStreamRequests(connection, "from.A.API")
        found = rows(api, StreamRange(unique, 1, 301 + len(ODD_PAYLOADS)), retry_interval=0)
        assert [row["data"] for row in found[: len(ODD_PAYLOADS)]] == list(ODD_PAYLOADS)
        assert {row["subject"] for row in found} == {f"{unique}.{token}" for token in "xab"}
        assert len(found) == 300 + len(ODD_PAYLOADS)
