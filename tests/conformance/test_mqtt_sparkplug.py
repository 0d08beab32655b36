"""Sparkplug B over MQTT: births become certificates, and deaths get their time."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from lib.eventually import eventually
from lib.mqtt import MQTTClient, Publish, packet, publish
from lib.process import ServerProcess
from pyjs.server.mqtt import sparkplug

CONFIG = """
listen: 127.0.0.1:<client>
server_name: S
jetstream { store_dir: "<store>" }
mqtt { listen: 127.0.0.1:<mqtt> }
"""
CERTIFICATES = "$sparkplug/certificates/"


@pytest.fixture
def port(serve: Callable[[str], ServerProcess]) -> int:
    return serve(CONFIG).ports["mqtt"]


@pytest.mark.parametrize("levels", ["{}/NBIRTH/node", "{}/DBIRTH/node/device"])
def test_a_birth_is_retained_as_a_certificate(port: int, unique: str, levels: str) -> None:
    topic = "spBv1.0/" + levels.format(unique)
    with MQTTClient.joined(port) as client, MQTTClient.joined(port) as sender:
        assert client.subscribe((f"{CERTIFICATES}spBv1.0/{unique}/#", 0), (topic, 0)) == [0, 0]
        sender.send(publish(topic, b"born", 0))
        found = {client.message(), client.message()}
        assert found == {Publish(topic, b"born"), Publish(CERTIFICATES + topic, b"born", retain=True)}

        def retained() -> list[Publish]:
            with MQTTClient.joined(port) as other:
                assert other.subscribe((f"{CERTIFICATES}spBv1.0/{unique}/#", 0)) == [0]
                other.send(packet(12))
                kept = []
                while (one := other.read()).kind == 3:
                    other.unread.append(one)
                    kept.append(other.message())
                return kept

        eventually(lambda: retained() == [Publish(CERTIFICATES + topic, b"born", retain=True)])


@pytest.mark.parametrize("qos", [0, 1])
@pytest.mark.parametrize("kind", ["NDEATH", "DDEATH"])
def test_a_death_gets_its_time(port: int, unique: str, kind: str, qos: int) -> None:
    topic = f"spBv1.0/{unique}/{kind}/node"
    sequence = b"\x18\x05"  # field 3
    sent = b"\x08\x01" + sequence
    with MQTTClient.joined(port) as client:
        assert client.subscribe((topic, qos)) == [qos]
        before = time.time_ns() // 1_000_000
        MQTTClient.joined(port, will=Publish(topic, sent, qos)).close()
        found = client.message().payload
        after = time.time_ns() // 1_000_000
        times = {sparkplug.with_time(sequence + b"\x08\x01", at) for at in range(before, after + 1)}
        assert found.endswith(sequence)
        assert sequence + found.removesuffix(sequence) in times


@pytest.mark.parametrize("payload", [b"text", b"\x08", b"\x0f\x01", b"\x12\x7fx"])
def test_a_death_that_is_no_payload_stays_as_it_is(port: int, unique: str, payload: bytes) -> None:
    topic = f"spBv1.0/{unique}/NDEATH/node"
    with MQTTClient.joined(port) as client:
        assert client.subscribe((topic, 0)) == [0]
        client.send(publish(topic, payload))
        assert client.message() == Publish(topic, payload)


@pytest.mark.parametrize("levels", ["NBIRTH/node", "a/b/NBIRTH/node/x", "a/NDATA/node", "a/NBIRTH"])
def test_other_topics_are_nothing_special(port: int, unique: str, levels: str) -> None:
    topic = f"spBv1.0/{levels}"
    with MQTTClient.joined(port) as client:
        assert client.subscribe((f"{CERTIFICATES}#", 0), (topic, 0))[1] == 0
        client.send(publish(topic, unique.encode()))
        while (found := client.message()).retain:
            pass
        assert found == Publish(topic, unique.encode())
        client.flush()
