"""Configurations of the MQTT listener that no server starts with, and what a reload does to it."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from lib.eventually import eventually
from lib.jetstream import JetStream
from lib.mqtt import MQTTClient, Packet, Publish, connect, publish
from lib.process import ServerProcess
from lib.reference import binary

COMMANDS = {"reference": [binary()], "pyjs": [sys.executable, "-m", "pyjs.server.main"]}
USERS = "authorization { users: [{ user: a, password: b }] }"
PLAIN = 'jetstream {{ store_dir: "./store" }}\nmqtt {{ listen: 127.0.0.1:-1, {} }}'
WRONG = {
    "no JetStream": (
        "mqtt { listen: 127.0.0.1:-1 }",
        "mqtt requires JetStream to be enabled if running in standalone mode",
    ),
    "no name in a cluster": (
        PLAIN.format("") + "\ncluster { name: c, listen: 127.0.0.1:-1 }",
        "mqtt requires server",
    ),
    "no users": (
        PLAIN.format("no_auth_user: a"),
        'no_auth_user: "a" present, but users/nkeys are not defined',
    ),
    "other users": (PLAIN.format("no_auth_user: x") + "\n" + USERS, 'no_auth_user: "x" not present as user'),
    "user and users": (
        PLAIN.format("authorization { user: x, password: y }") + "\n" + USERS,
        "mqtt authentication username not compatible with presence of users/nkeys",
    ),
    "token and users": (
        PLAIN.format("authorization { token: x }") + "\n" + USERS,
        "mqtt authentication token not compatible with presence of users/nkeys",
    ),
    "ack wait": (PLAIN.format('ack_wait: "-1s"'), "ack wait must be a positive value"),
    "too much pending": (PLAIN.format("max_ack_pending: 70000"), "65535"),
}
CONFIG = """
listen: 127.0.0.1:<client>
server_name: S
jetstream {{ store_dir: "<store>" }}
mqtt {{ listen: 127.0.0.1:<mqtt>, {} }}
"""


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("case", WRONG)
def test_a_start_that_fails_says_why(name: str, case: str, tmp_path: Path) -> None:
    config, said = WRONG[case]
    (tmp_path / "server.conf").write_text(f"host: 127.0.0.1\nport: -1\n{config}\n")
    done = subprocess.run(
        [*COMMANDS[name], "-c", "server.conf"], capture_output=True, text=True, timeout=60, cwd=tmp_path
    )
    assert done.returncode == 1
    assert said in done.stdout + done.stderr


def test_a_reload(launch: Callable[[str], ServerProcess]) -> None:
    server = launch(CONFIG.format('max_ack_pending: 10, ack_wait: "30s"'))
    port = server.ports["mqtt"]
    with MQTTClient.joined(port) as client, JetStream.of(server) as js:
        server.configure(CONFIG.format('max_ack_pending: 2, ack_wait: "20s", consumer_memory_storage: true'))
        server.signal(signal.SIGHUP)
        eventually(lambda: "Reloaded" in server.log())
        assert client.subscribe(("a", 1)) == [1]
        name = js.call("CONSUMER.NAMES.$MQTT_msgs")["consumers"][0]
        found = js.call(f"CONSUMER.INFO.$MQTT_msgs.{name}")["config"]
        assert (found["max_ack_pending"], found["ack_wait"], found["mem_storage"]) == (
            2,
            20_000_000_000,
            True,
        )


def test_what_a_reload_cannot_change(launch: Callable[[str], ServerProcess]) -> None:
    server = launch(CONFIG.format(""))
    server.configure(CONFIG.format("js_domain: hub"))
    server.signal(signal.SIGHUP)
    eventually(lambda: "config reload not supported for" in server.log())


def test_packets_are_traced(launch: Callable[[str], ServerProcess]) -> None:
    server = launch(CONFIG.format("") + "trace: true\n")
    with MQTTClient.joined(server.ports["mqtt"], "c") as client:
        assert client.subscribe(("a", 0)) == [0]
        client.send(publish("a", b"x"))
        assert client.message() == Publish("a", b"x")
        for line in ("<<- [CONNECT", "->> [CONNACK", "<<- [PUBLISH", "->> [PUBLISH a "):
            eventually(lambda line=line: line in server.log())  # type: ignore[misc]


def test_qos_2_can_be_switched_off(serve: Callable[[str], ServerProcess]) -> None:
    port = serve(CONFIG.format("reject_qos2_publish: true, downgrade_qos2_subscribe: true")).ports["mqtt"]
    with MQTTClient.joined(port) as client:
        assert client.subscribe(("a", 2)) == [1]
        client.send(publish("a", b"x", 2, 1))
        assert client.closed()
    with MQTTClient(port) as client:
        client.send(connect("x", will=Publish("a", b"x", 2)))
        assert client.read() == Packet(2, 0, b"\0\x10")
        assert client.closed()


def test_consumers_of_clients_that_stay_away_end(serve: Callable[[str], ServerProcess]) -> None:
    server = serve(CONFIG.format('consumer_inactive_threshold: "100ms"'))
    port = server.ports["mqtt"]
    with MQTTClient.joined(port, "c", clean=False) as client:
        assert client.subscribe(("a", 1)) == [1]
        client.disconnect()
    with JetStream.of(server) as js:
        eventually(lambda: js.call("CONSUMER.NAMES.$MQTT_msgs")["consumers"] == [], 20)
