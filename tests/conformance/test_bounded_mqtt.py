"""Whatever an MQTT client sends, no callback of the loop takes long (lib/callbacks.py), and nobody waits."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from lib import mqtt
from lib.callbacks import Callbacks
from lib.mqtt import MQTTClient, answer, connect, packet, publish, subscribe, unsubscribe
from lib.process import ServerProcess

CONFIG = """
listen: 127.0.0.1:<client>
jetstream { store_dir: "<store>", max_mem: 100MB, max_file: 1GB }
mqtt { listen: 127.0.0.1:<mqtt> }
authorization { timeout: 0.5 }
"""
MANY = [(f"a/{number}/+", 0) for number in range(1000)]
BURSTS = {
    "pings": packet(mqtt.PINGREQ) * 50_000,
    "small messages": publish("here", b"x") * 30_000,
    "odd topics": publish("/a//b.c/" + "/." * 100, b"x") * 5_000,
    "large messages": publish("here", bytes(1_000_000)) * 20,
    "messages to keep": b"".join(publish("here", b"x", 1, number + 1) for number in range(3_000)),
    "messages of qos 2": b"".join(publish("here", b"x", 2, number + 1) for number in range(2_000)),
    "pubrels of nothing": b"".join(answer(mqtt.PUBREL, number + 1) for number in range(3_000)),
    "pubrecs of nothing": b"".join(answer(mqtt.PUBREC, number + 1) for number in range(3_000)),
    "pubacks of nothing": answer(mqtt.PUBACK, 7) * 50_000,
    "filters": (subscribe(1, *MANY) + unsubscribe(2, *(topic for topic, _ in MANY))) * 3,
    "retained": b"".join(publish(f"r/{number}", b"x", flags=1) for number in range(3_000))
    + subscribe(1, ("r/#", 0)),
}


@pytest.mark.parametrize("case", BURSTS)
def test_no_burst_holds_the_loop(
    callbacks: Callbacks, launch: Callable[[str], ServerProcess], case: str
) -> None:
    """The answer to a last PINGREQ shows that all of it was served."""
    server = launch(CONFIG)
    with MQTTClient.joined(server.ports["mqtt"], "burst") as client:
        assert client.subscribe(("none", 1), ("here", 0)) == [1, 0]
        end = subscribe(9, ("end", 0)) + packet(mqtt.PINGREQ)
        with callbacks.bounded(server):
            sending = threading.Thread(target=client.send, args=(BURSTS[case] + end,))
            sending.start()
            while (found := client.read(60)).kind != mqtt.SUBACK or found.body[:2] != b"\0\x09":
                pass
            sending.join()


def test_a_subscribe_with_too_many_filters(
    launch: Callable[[str], ServerProcess], implementation: str
) -> None:
    server = launch(CONFIG)
    with MQTTClient.joined(server.ports["mqtt"]) as client:
        client.send(subscribe(1, *MANY, ("one/more", 0)))
        if implementation == "pyjs":
            assert client.closed()
        else:
            assert client.read().kind == mqtt.SUBACK


def test_who_sends_no_connect_is_closed(launch: Callable[[str], ServerProcess], implementation: str) -> None:
    """nats-server waits where nobody must log in."""
    server = launch(CONFIG)
    with MQTTClient(server.ports["mqtt"]) as client:
        client.send(connect("x")[:-1])
        if implementation == "pyjs":
            assert client.closed()


def test_a_client_that_reads_nothing_is_closed_and_nobody_waits(
    launch: Callable[[str], ServerProcess],
) -> None:
    server = launch("max_pending: 4MB\n" + CONFIG)
    with MQTTClient.joined(server.ports["mqtt"]) as idle, MQTTClient.joined(server.ports["mqtt"]) as other:
        assert idle.subscribe(("a", 0)) == [0]
        for _ in range(60):
            other.publish("a", bytes(500_000))
        with pytest.raises((EOFError, ConnectionError)):
            while True:
                idle.read()
