"""The pytest fixtures that come with pyjs, and what they start."""

from __future__ import annotations

import threading

import pytest
from lib.wire import Wire
from pyjs.server.embed import ThreadedServer, serve
from pyjs.server.embed.pytest_plugin import HubAndLeaf

pytest_plugins = ["pytester"]


def test_a_jetstream_server_is_ready(jetstream_server: ThreadedServer) -> None:
    with Wire.connected(jetstream_server.port) as wire:
        assert wire.request("$JS.API.INFO").json()["streams"] == 0


def test_hub_and_leaf_reach_each_other_at_once(hub_and_leaf: HubAndLeaf) -> None:
    hub, leaf = hub_and_leaf
    assert hub.leaf_url.startswith("nats-leaf://127.0.0.1:")
    assert leaf.leaf_url == ""
    for server, domain in ((hub, "leaf"), (leaf, "hub"), (hub, "hub"), (leaf, "leaf")):
        with Wire.connected(server.port) as wire:
            assert wire.request(f"$JS.{domain}.API.INFO").json()["domain"] == domain


def test_hub_and_leaf_reach_each_other(hub_and_leaf: HubAndLeaf) -> None:
    hub, leaf = hub_and_leaf
    with Wire.connected(hub.port) as here, Wire.connected(leaf.port) as there:
        here.sub("news")
        here.sync()
        # The interest has to travel; a request on a subject that is known waits for it.
        there.request("$JS.hub.API.INFO")
        there.pub("news", "from the leaf")
        assert here.msg().body == b"from the leaf"


def test_the_wait_for_leafs_ends_in_time() -> None:
    with serve() as alone, pytest.raises(RuntimeError, match="no leaf nodes"):
        alone.await_leafs(1, 0.1)


def test_no_thread_is_left(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(hub_and_leaf):\n    assert hub_and_leaf.hub.port")
    before = threading.active_count()
    plugins = ("no:cacheprovider", "no:asyncio")
    ran = pytester.runpytest_inprocess(*(word for plugin in plugins for word in ("-p", plugin)))
    ran.assert_outcomes(passed=1)
    assert threading.active_count() == before
