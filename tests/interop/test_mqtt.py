"""MQTT clients that go from server to server: between leaf and hub, of either implementation; in clusters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from lib import mqtt
from lib.eventually import eventually
from lib.jetstream_cluster import JetMesh
from lib.leaf_pair import Pair, api, combined
from lib.mqtt import MQTTClient, Packet, Publish, answer, publish

ACCOUNTS = """
accounts {
    SYS: { users: [{user: admin, password: admin}] },
    ACC: { users: [{user: acc, password: acc}], jetstream: enabled }
}
system_account: SYS
"""
HUB = """
listen: 127.0.0.1:<client>
server_name: hub-server
jetstream { store_dir="<store>", domain=hub }
leafnodes { listen: 127.0.0.1:<leaf> }
mqtt { listen: 127.0.0.1:<mqtt> }
"""
LEAF = """
listen: 127.0.0.1:<client>
server_name: leaf-server
leafnodes { reconnect: 1, remotes = [ { urls: ["nats-leaf://acc:acc@127.0.0.1:@hub@"], account: "ACC" } ] }
mqtt { listen: 127.0.0.1:<mqtt>, js_domain: hub }
"""
LOGIN: dict[str, Any] = {"user": "acc", "password": "acc"}


@pytest.fixture(
    scope="module", params=[("reference", "pyjs"), ("pyjs", "reference"), ("pyjs", "pyjs")], ids=combined
)
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    hub, leaf = request.param
    made = Pair(hub, leaf, HUB + ACCOUNTS, LEAF + ACCOUNTS)
    try:
        made.joined()
        yield made
    finally:
        made.close()


def done(client: MQTTClient, found: Publish) -> None:
    """Answer a message with all that its QoS asks for."""
    if found.qos == 1:
        client.send(answer(mqtt.PUBACK, found.packet_id))
    else:
        client.send(answer(mqtt.PUBREC, found.packet_id))
        assert client.read() == Packet(mqtt.PUBREL, 2, found.packet_id.to_bytes(2, "big"))
        client.send(answer(mqtt.PUBCOMP, found.packet_id))
        client.flush()


def test_a_session_goes_from_the_leaf_to_the_hub_and_back(pair: Pair, unique: str) -> None:
    leaf, hub = pair.leaf.ports["mqtt"], pair.hub.ports["mqtt"]
    with MQTTClient.joined(leaf, unique, clean=False, **LOGIN) as client:
        assert client.subscribe((f"{unique}/#", 2)) == [2]
        client.disconnect()
    places = [(leaf, hub), (hub, leaf), (leaf, leaf)]
    for number, (sends, receives) in enumerate(places):
        with MQTTClient.joined(sends, **LOGIN) as sender:
            sender.publish(f"{unique}/1", b"%d" % number, 1)
            sender.publish(f"{unique}/2", b"%d" % number, 2)
        with MQTTClient.joined(receives, unique, clean=False, present=True, **LOGIN) as client:
            found = [client.message() for _ in range(2)]
            assert {(one.topic, one.payload, one.qos) for one in found} == {
                (f"{unique}/1", b"%d" % number, 1),
                (f"{unique}/2", b"%d" % number, 2),
            }
            for one in sorted(found, key=lambda each: each.qos):
                done(client, one)
            client.disconnect()
    MQTTClient.joined(hub, unique, **LOGIN).disconnect()


def test_a_client_that_comes_elsewhere_leaves_the_other_server(pair: Pair, unique: str) -> None:
    first = MQTTClient.joined(pair.leaf.ports["mqtt"], unique, **LOGIN)
    with first, MQTTClient.joined(pair.hub.ports["mqtt"], unique, **LOGIN) as second:
        assert first.closed()
        second.flush()


def test_retained_messages_and_qos_2_cross(pair: Pair, unique: str) -> None:
    leaf, hub = pair.leaf.ports["mqtt"], pair.hub.ports["mqtt"]
    for here, there in ((leaf, hub), (hub, leaf)):
        with MQTTClient.joined(here, unique, clean=False, **LOGIN) as sender:
            sender.publish(unique, b"kept", 1, flags=1)
            sender.send(publish(f"{unique}/half", b"x", 2, 9))
            assert sender.read() == Packet(mqtt.PUBREC, 0, b"\0\11")

        def retained(port: int = there) -> bool:
            with MQTTClient.joined(port, **LOGIN) as client:
                assert client.subscribe((unique, 0)) == [0]
                client.send(mqtt.packet(mqtt.PINGREQ))
                return client.read() == Packet(mqtt.PUBLISH, 1, mqtt.string(unique) + b"kept")

        eventually(retained)
        with (
            MQTTClient.joined(there, **LOGIN) as other,
            MQTTClient.joined(there, unique, **LOGIN, clean=False, present=True) as sender,
        ):
            assert other.subscribe((f"{unique}/half", 1)) == [1]
            sender.send(answer(mqtt.PUBREL, 9))
            assert sender.read() == Packet(mqtt.PUBCOMP, 0, b"\0\11")
            assert other.message()[:3] == (f"{unique}/half", b"x", 1)
            other.publish(unique, b"", flags=1)
        MQTTClient.joined(there, unique, **LOGIN).disconnect()


def test_the_streams_are_in_the_hub(pair: Pair) -> None:
    with MQTTClient.joined(pair.leaf.ports["mqtt"], **LOGIN), api(pair.hub) as js:
        assert "$MQTT.sess.hub.>" in js.info("$MQTT_sess")["config"]["subjects"]


@pytest.fixture(scope="module")
def mesh() -> Iterator[JetMesh]:
    made = JetMesh("pyjs", more="mqtt { listen: 127.0.0.1:<mqtt>, ack_wait: 2s, js_api_timeout: 10s }")
    try:
        yield made
    finally:
        made.close()


def test_a_session_in_a_cluster(mesh: JetMesh, unique: str) -> None:
    ports = [server.ports["mqtt"] for server in mesh.servers]
    with MQTTClient.joined(ports[0], unique, clean=False, **LOGIN) as client:
        assert client.subscribe((unique, 2), (f"{unique}/kept", 0)) == [2, 0]
        with MQTTClient.joined(ports[1], unique, clean=False, present=True, **LOGIN) as second:
            assert client.closed()
            second.disconnect()
    with api(mesh.servers[0]) as js:
        assert js.info("$MQTT_msgs")["config"]["num_replicas"] == 3
    with MQTTClient.joined(ports[1], **LOGIN) as sender:
        sender.publish(unique, b"one", 1)
        sender.publish(unique, b"two", 2)
        sender.publish(f"{unique}/kept", b"k", 1, flags=1)
    with MQTTClient.joined(ports[2], unique, clean=False, present=True, **LOGIN) as client:
        found = {client.message().payload for _ in range(2)}
        assert found == {b"one", b"two"}


def test_a_server_of_a_cluster_is_killed(mesh: JetMesh, unique: str) -> None:
    ports = [server.ports["mqtt"] for server in mesh.servers]
    with MQTTClient.joined(ports[0], unique, clean=False, **LOGIN) as client:
        assert client.subscribe((unique, 1)) == [1]
        with MQTTClient.joined(ports[1], **LOGIN) as sender:
            for number in range(5):
                sender.publish(unique, b"%d" % number, 1, number + 1)
        mesh.servers[0].kill()

    def back() -> bool:
        try:
            client = MQTTClient.joined(ports[2], unique, clean=False, present=True, **LOGIN)
        except (AssertionError, EOFError, TimeoutError):
            return False
        with client:
            found: set[bytes] = set()
            while len(found) < 5:
                one = client.message()
                found.add(one.payload)
                client.send(answer(mqtt.PUBACK, one.packet_id))
            return found == {b"%d" % number for number in range(5)}

    eventually(back, 60)
    mesh.servers[0].launch()
