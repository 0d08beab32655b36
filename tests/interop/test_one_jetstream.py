"""A hub and a cluster of leafs without domains, whose system accounts are joined: one JetStream."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from lib.eventually import eventually
from lib.jetstream_cluster import CONFIG, READY_SECONDS, JetMesh
from lib.pool import START
from lib.process import ServerProcess, free_port
from lib.wire import Wire

USERS = {"SYS": "admin", "ACC": "acc"}


class Joined:
    """hub: s0, s1, s2 of cluster "mesh". leafs: l0 and l1 of cluster "spoke"."""

    def __init__(self, implementation: str) -> None:
        self.hub = JetMesh(implementation, more='leafnodes { listen: "127.0.0.1:<leaf>" }')
        self.leafs: list[ServerProcess] = []
        ports = [free_port(), free_port()]
        routes = ", ".join(f"nats-route://127.0.0.1:{port}" for port in ports)
        try:
            for number, port in enumerate(ports):
                config = CONFIG.replace("name: mesh", "name: spoke").format(
                    name=f"l{number}", port=port, routes=routes, options="", more=self._remotes()
                )
                self.leafs.append(START[implementation](config))
            eventually(self.is_one, READY_SECONDS)
        except BaseException:
            self.close()
            raise

    def _remotes(self) -> str:
        remotes = []
        for account, user in USERS.items():
            urls = [f'"nats-leaf://{user}:{user}@127.0.0.1:{s.ports["leaf"]}"' for s in self.hub.servers]
            remotes.append(f"{{ urls: [{', '.join(urls)}], account: {account} }}")
        return f"leafnodes {{ remotes: [{', '.join(remotes)}] }}"

    def is_one(self) -> bool:
        metas = [self.hub.meta(server) for server in (*self.hub.alive(), *self.leafs)]
        leaders = {meta.get("leader", "") for meta in metas}
        return len(leaders) == 1 and "" not in leaders and all(meta["cluster_size"] == 5 for meta in metas)

    def close(self) -> None:
        for server in self.leafs:
            server.stop()
        self.hub.close()


@pytest.fixture(scope="module", params=["reference", "pyjs"])
def joined(request: pytest.FixtureRequest) -> Iterator[Joined]:
    found = Joined(request.param)
    yield found
    found.close()


def create(wire: Wire, name: str, **config: Any) -> dict[str, Any]:
    asked = {"name": name, "subjects": [f"{name}.>"], **config}
    found: dict[str, Any] = wire.request(f"$JS.API.STREAM.CREATE.{name}", json.dumps(asked)).json()
    return found


def test_streams_are_placed_where_they_are_wanted_and_used_from_everywhere(joined: Joined) -> None:
    leaf, hub = joined.leafs[0], joined.hub["s1"]
    with joined.hub.login(leaf) as at_leaf, joined.hub.login(hub) as at_hub:
        near = create(at_leaf, "NEAR", num_replicas=2)
        assert near["cluster"]["name"] == "spoke"
        assert {near["cluster"]["leader"], near["cluster"]["replicas"][0]["name"]} == {"l0", "l1"}
        refused = create(at_leaf, "MORE", num_replicas=3)
        assert refused.get("error", {}).get("err_code") == 10005, refused
        home = create(at_hub, "HOME", num_replicas=3)
        assert home.get("cluster", {}).get("name") == "mesh", home
        away = create(at_hub, "AWAY", num_replicas=1, placement={"cluster": "spoke"})
        assert away["cluster"]["leader"] in {"l0", "l1"}
        for wire in (at_leaf, at_hub):
            assert wire.request("$JS.API.STREAM.NAMES").json()["streams"] == ["AWAY", "HOME", "NEAR"]
            for name in ("AWAY", "HOME", "NEAR"):
                eventually(lambda wire=wire, name=name: "seq" in wire.request(f"{name}.a", "x").json())  # type: ignore[misc]
        for name in ("AWAY", "HOME", "NEAR"):
            for wire in (at_leaf, at_hub):
                info = wire.request(f"$JS.API.STREAM.INFO.{name}").json()
                assert info["state"]["messages"] >= 2
                assert wire.request(f"$JS.API.STREAM.MSG.GET.{name}", '{"seq": 1}').json()["message"]


def test_the_hub_leads_also_when_its_leader_dies(joined: Joined) -> None:
    before = joined.hub.leader()
    joined.hub[before].crash()

    def is_led() -> bool:
        metas = [joined.hub.meta(server) for server in (*joined.hub.alive(), *joined.leafs)]
        leaders = {meta.get("leader", "") for meta in metas}
        return len(leaders) == 1 and not leaders & {"", before}

    eventually(is_led, READY_SECONDS)
    assert joined.hub.leader() in {"s0", "s1", "s2"}
    joined.hub[before].launch()
    eventually(joined.is_one, READY_SECONDS)


def test_a_lost_leaf_node_is_noticed_at_once() -> None:
    """Also where the leaf node was connected to another server of the hub than its leader."""
    joined = Joined("pyjs")
    try:

        def offline(name: str) -> bool:
            replicas = joined.hub.meta(joined.hub[joined.hub.leader()]).get("replicas", [])
            return any(replica["name"] == name and replica.get("offline") for replica in replicas)

        for number in (0, 1):
            assert not offline(f"l{number}")
            joined.leafs[number].crash()
            crashed = time.monotonic()
            eventually(lambda number=number: offline(f"l{number}"), 10)  # type: ignore[misc]
            assert time.monotonic() - crashed < 5  # 16 seconds of silence would say so too
        joined.leafs[0].launch()
        eventually(lambda: not offline("l0"), READY_SECONDS)
    finally:
        joined.close()
