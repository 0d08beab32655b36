"""JetStream over gateways: clusters that are one JetStream, and clusters that use the JetStream of another.

Servers of pyjs and of nats-server are no JetStream together; a cluster of either kind without JetStream uses
that of pyjs servers elsewhere.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from lib.eventually import eventually
from lib.gateway_peer import Listener, dial
from lib.pool import START
from lib.process import ServerProcess, free_port
from lib.super_cluster import JetSuperCluster
from lib.wire import Msg, Wire


@pytest.fixture(scope="module", params=["reference", "pyjs"])
def clusters(request: pytest.FixtureRequest) -> Iterator[JetSuperCluster]:
    found = JetSuperCluster(request.param)
    yield found
    found.close()


@pytest.fixture
def near(clusters: JetSuperCluster) -> Iterator[Wire]:
    """A client of the one server in B."""
    with clusters.login("b0") as wire:
        yield wire


def ask(wire: Wire, subject: str, **fields: Any) -> dict[str, Any]:
    found: dict[str, Any] = wire.request(f"$JS.API.{subject}", json.dumps(fields)).json()
    return found


def create(wire: Wire, name: str, **fields: Any) -> dict[str, Any]:
    return ask(wire, f"STREAM.CREATE.{name}", name=name, subjects=[f"{name}.>"], **fields)


def test_a_stream_is_placed_in_the_cluster_of_its_client(clusters: JetSuperCluster, unique: str) -> None:
    for name, cluster in (("b0", "B"), ("a0", "A"), ("a1", "A"), ("a2", "A")):
        with clusters.login(name) as wire:
            assert create(wire, f"{unique}-{name}")["cluster"]["name"] == cluster


def test_a_stream_that_does_not_fit_there_goes_to_another_cluster(near: Wire, unique: str) -> None:
    assert create(near, unique, num_replicas=3)["cluster"]["name"] == "A"


def test_a_stream_is_placed_where_its_configuration_says(clusters: JetSuperCluster, unique: str) -> None:
    with clusters.login("a1") as wire:
        assert create(wire, f"{unique}-b", placement={"cluster": "B"})["cluster"]["name"] == "B"
    with clusters.login("b0") as wire:
        assert (
            create(wire, f"{unique}-a", placement={"cluster": "A"}, num_replicas=3)["cluster"]["name"] == "A"
        )
        for cluster in ("B", "C"):
            answer = create(wire, f"{unique}-no", placement={"cluster": cluster}, num_replicas=3)
            assert answer["error"]["err_code"] == 10005


def test_messages_are_stored_and_pulled_in_another_cluster(near: Wire, unique: str) -> None:
    create(near, unique, placement={"cluster": "A"}, num_replicas=3)
    assert [near.request(f"{unique}.{n}", str(n)).json()["seq"] for n in range(1, 6)] == [1, 2, 3, 4, 5]
    ask(
        near,
        f"CONSUMER.CREATE.{unique}.c",
        stream_name=unique,
        config={"durable_name": "c", "ack_policy": "explicit"},
    )
    got: list[Msg] = []

    def pulled() -> bool:
        near.pub(f"$JS.API.CONSUMER.MSG.NEXT.{unique}.c", '{"batch":5,"no_wait":true}', reply=near.inbox())
        got.extend(frame for frame in near.sync() if isinstance(frame, Msg) and not frame.status)
        return len(got) >= 5

    eventually(pulled)
    assert [(each.subject, each.body) for each in got] == [
        (f"{unique}.{n}", str(n).encode()) for n in range(1, 6)
    ]
    for each in got:
        near.pub(each.reply, "+ACK")
    near.sync()
    eventually(lambda: ask(near, f"CONSUMER.INFO.{unique}.c")["ack_floor"]["stream_seq"] == 5)


def test_a_push_consumer_delivers_to_another_cluster(
    clusters: JetSuperCluster, near: Wire, unique: str
) -> None:
    with clusters.login("a0") as wire:
        create(wire, unique, placement={"cluster": "A"})
        for n in range(3):
            wire.request(f"{unique}.{n}", str(n))
        near.sub(f"deliver.{unique}", "7")
        near.sync()
        ask(
            wire,
            f"CONSUMER.CREATE.{unique}.p",
            stream_name=unique,
            config={"durable_name": "p", "ack_policy": "none", "deliver_subject": f"deliver.{unique}"},
        )
        got = [(each.subject, each.body) for each in near.msgs(3)]
        assert got == [(f"{unique}.{n}", str(n).encode()) for n in range(3)]


def test_a_mirror_in_another_cluster(clusters: JetSuperCluster, near: Wire, unique: str) -> None:
    create(near, unique, placement={"cluster": "A"})
    for n in range(3):
        near.request(f"{unique}.{n}", str(n))
    made = ask(near, f"STREAM.CREATE.{unique}-m", name=f"{unique}-m", mirror={"name": unique})
    assert made["cluster"]["name"] == "B"
    eventually(lambda: ask(near, f"STREAM.INFO.{unique}-m")["state"]["messages"] == 3)
    mirror, origin = {"name": f"{unique}-m", "cluster": "B"}, {"name": unique, "cluster": "A"}
    assert ask(near, f"STREAM.INFO.{unique}")["alternates"] == [mirror, origin]
    with clusters.login("a0") as far:
        assert ask(far, f"STREAM.INFO.{unique}")["alternates"] == [origin, mirror]
    assert "alternates" not in ask(near, f"STREAM.INFO.{unique}-m")


def leads(clusters: JetSuperCluster, cluster: str) -> bool:
    """Return whether a server of that cluster leads the meta group."""
    leader: str = clusters.meta("a1").get("leader", "")
    return leader.startswith(cluster.lower())


def test_another_cluster_may_lead(clusters: JetSuperCluster) -> None:
    with clusters.login("a0", "admin") as admin:
        for cluster in ("A", "B", "A"):
            if leads(clusters, cluster):
                continue
            answer = ask(admin, "META.LEADER.STEPDOWN", placement={"cluster": cluster})
            assert answer.get("success"), answer
            eventually(partial(leads, clusters, cluster))
    clusters.ready()


def test_a_server_of_another_cluster_comes_back(clusters: JetSuperCluster, unique: str) -> None:
    with clusters.login("b0") as wire:
        create(wire, unique, placement={"cluster": "B"})
        wire.request(f"{unique}.1", "kept")
    clusters.servers["b0"].kill()
    with clusters.login("a0") as wire:
        assert create(wire, f"{unique}-2", num_replicas=3)["cluster"]["name"] == "A"
        clusters.servers["b0"].launch()
        clusters.ready()

        def found() -> bool:
            wire.pub(f"$JS.API.STREAM.INFO.{unique}", "", reply=wire.inbox())
            frames = [frame.json() for frame in wire.sync() if isinstance(frame, Msg) and not frame.status]
            return any(frame.get("state", {}).get("messages") == 1 for frame in frames)

        eventually(found)


# --- clusters without JetStream

ALONE = """
listen: 127.0.0.1:<client>
server_name: {name}
{jetstream}
cluster {{ name: {name}, listen: "127.0.0.1:{port}", routes: ["nats-route://127.0.0.1:{port}"] }}
gateway {{ name: {name}, listen: "127.0.0.1:<gateway>", gateways: [{gateways}] }}
accounts {{
    SYS: {{ users: [{{user: admin, password: admin}}] }}
    ACC: {{ users: [{{user: acc, password: acc}}], jetstream: enabled }}
}}
system_account: SYS
"""


@pytest.fixture(scope="module", params=["reference", "pyjs"])
def without(request: pytest.FixtureRequest) -> Iterator[ServerProcess]:
    """A server of either kind without JetStream, whose cluster has a gateway to a server of pyjs with it."""
    stores = START["pyjs"](
        ALONE.format(name="S", port=free_port(), gateways="", jetstream='jetstream { store_dir: "<store>" }')
    )
    try:
        gateways = f"{{name: S, url: 'nats://127.0.0.1:{stores.ports['gateway']}'}}"
        found = START[request.param](
            ALONE.format(name="W", port=free_port(), gateways=gateways, jetstream="")
        )
        yield found
        found.stop()
    finally:
        stores.stop()


def test_a_cluster_without_jetstream_uses_that_of_another(without: ServerProcess, unique: str) -> None:
    with without.connect(user="acc", **{"pass": "acc"}) as wire:

        def created() -> bool:
            fields = {"name": unique, "subjects": [f"{unique}.>"]}
            wire.pub(f"$JS.API.STREAM.CREATE.{unique}", json.dumps(fields), reply=wire.inbox())
            return any(isinstance(frame, Msg) and b'"did_create"' in frame.body for frame in wire.sync())

        eventually(created)

        def stored() -> bool:
            wire.pub(f"{unique}.1", "x", reply=wire.inbox())
            return any(isinstance(frame, Msg) and b'"seq"' in frame.body for frame in wire.sync())

        eventually(stored)
        answer = ask(wire, f"STREAM.MSG.GET.{unique}", seq=1)
        assert answer["message"]["subject"] == f"{unique}.1"


def test_a_cluster_with_jetstream_of_nats_server_keeps_to_its_own() -> None:
    """Its requests would be answered twice."""
    other = Listener("W")
    gateways = f"{{name: W, url: 'nats://127.0.0.1:{other.port}'}}"
    stores = START["pyjs"](
        ALONE.format(
            name="S", port=free_port(), gateways=gateways, jetstream='jetstream { store_dir: "<store>" }'
        )
    )
    try:
        with other.accept() as outbound, dial(stores, "W") as inbound:
            interest: set[bytes] = set()

            def announced() -> set[bytes]:
                for line in inbound.sync():
                    if line.startswith(b"RS+ ACC $JS.API."):
                        interest.add(line[4:])
                    elif line.startswith(b"RS- ACC $JS.API."):
                        interest.discard(line[4:])
                return interest

            eventually(announced)
            outbound.send(b"RS+ SYS $JS.API.> \r\n")
            outbound.sync()
            eventually(lambda: not announced())
            eventually(lambda: 'Gateway "W" has JetStream of nats-server' in stores.log())
            with dial(stores, "W") as second:
                lines = second.sync() + second.sync()
                assert not [line for line in lines if line.startswith(b"RS+ ACC $JS.API.")]
            with dial(stores, "X") as third:
                eventually(lambda: [line for line in third.sync() if line.startswith(b"RS+ ACC $JS.API.")])
    finally:
        stores.stop()
        other.close()
