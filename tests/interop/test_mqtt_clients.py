"""paho-mqtt and mosquitto's clients with pyjs: what people have."""

from __future__ import annotations

import queue
import shutil
import subprocess
from collections.abc import Callable

import paho.mqtt.client as paho
import pytest
from lib.process import ServerProcess
from paho.mqtt.enums import CallbackAPIVersion

CONFIG = """
listen: 127.0.0.1:<client>
server_name: S
jetstream { store_dir: "<store>", max_mem: 100MB, max_file: 100MB }
mqtt { listen: 127.0.0.1:<mqtt> }
websocket { listen: 127.0.0.1:<ws>, no_tls: true }
"""
SECONDS = 20
mosquitto = pytest.mark.skipif(
    shutil.which("mosquitto_sub") is None, reason="needs mosquitto's clients (mosquitto_pub, mosquitto_sub)"
)


@pytest.fixture
def server(serve: Callable[[str], ServerProcess]) -> ServerProcess:
    return serve(CONFIG)


class Client:
    """A client of paho-mqtt on its own thread, with what it has received."""

    def __init__(self, port: int, client_id: str, *, clean: bool = True, transport: str = "tcp") -> None:
        self.messages: queue.Queue[tuple[str, bytes, int, bool]] = queue.Queue()
        self.present: queue.Queue[bool] = queue.Queue()
        self.granted: queue.Queue[list[int]] = queue.Queue()
        kind = CallbackAPIVersion.VERSION2
        self.mqtt = paho.Client(kind, client_id, clean_session=clean, transport=transport)  # type: ignore[arg-type]
        if transport == "websockets":
            self.mqtt.ws_set_options("/mqtt")
        self.mqtt.max_inflight_messages_set(1000)
        self.mqtt.on_message = lambda _c, _u, m: self.messages.put(
            (m.topic, bytes(m.payload), m.qos, m.retain)
        )
        self.mqtt.on_connect = lambda _c, _u, flags, _r, _p: self.present.put(flags.session_present)
        self.mqtt.on_subscribe = lambda _c, _u, _m, codes, _p: self.granted.put([c.value for c in codes])
        self.mqtt.connect("127.0.0.1", port)
        self.mqtt.loop_start()

    def __enter__(self) -> Client:
        self.was_present = self.present.get(timeout=SECONDS)
        return self

    def __exit__(self, *_: object) -> None:
        self.mqtt.disconnect()
        self.mqtt.loop_stop()

    def subscribe(self, topic: str, qos: int) -> None:
        self.mqtt.subscribe(topic, qos)
        assert self.granted.get(timeout=SECONDS) == [qos]

    def publish(self, topic: str, payload: bytes, qos: int, *, retain: bool = False) -> None:
        self.mqtt.publish(topic, payload, qos, retain).wait_for_publish(SECONDS)

    def message(self) -> tuple[str, bytes, int, bool]:
        return self.messages.get(timeout=SECONDS)


@pytest.mark.parametrize("transport", ["tcp", "websockets"])
def test_paho(server: ServerProcess, unique: str, transport: str) -> None:
    port = server.ports["mqtt" if transport == "tcp" else "ws"]
    with Client(port, unique, clean=False, transport=transport) as client:
        assert not client.was_present
        client.subscribe(f"{unique}/+", 2)
    with Client(port, f"{unique}s", transport=transport) as sender:
        for qos in (1, 2):
            for number in range(20):
                sender.publish(f"{unique}/{qos}", b"%d" % number, qos)
        sender.publish(f"{unique}/kept", b"kept", 0, retain=True)
    with Client(port, unique, clean=False, transport=transport) as client:
        assert client.was_present
        found = [client.message() for _ in range(40)]
        for qos in (1, 2):
            topic = f"{unique}/{qos}"
            expected = [(topic, b"%d" % number, qos, False) for number in range(20)]
            assert sorted(each for each in found if each[0] == topic) == sorted(expected)
        client.subscribe(f"{unique}/#", 0)
        assert client.message() == (f"{unique}/kept", b"kept", 0, True)
    with Client(port, unique, transport=transport) as client:
        assert not client.was_present


def test_many_messages_of_paho_in_flight(server: ServerProcess, unique: str) -> None:
    with Client(server.ports["mqtt"], unique) as client, Client(server.ports["mqtt"], f"{unique}s") as sender:
        client.subscribe(unique, 1)
        sent = [sender.mqtt.publish(unique, b"%d" % number, 1) for number in range(1000)]
        for each in sent:
            each.wait_for_publish(SECONDS)
        assert [client.message()[1] for _ in range(1000)] == [b"%d" % number for number in range(1000)]


@mosquitto
def test_mosquitto(server: ServerProcess, unique: str) -> None:
    port = str(server.ports["mqtt"])
    common = ["-p", port, "-V", "mqttv311", "-t", unique]
    subscribe = ["mosquitto_sub", *common, "-q", "2", "-c", "-i", unique]
    subprocess.run([*subscribe, "-E"], check=True, timeout=SECONDS)
    for qos in ("0", "1", "2"):
        given = ["mosquitto_pub", *common, "-q", qos, "-m", f"with {qos}"]
        subprocess.run(given, check=True, timeout=SECONDS)
    found = subprocess.run(
        [*subscribe, "-C", "2", "-F", "%q %p"], check=True, timeout=SECONDS, capture_output=True, text=True
    )
    assert found.stdout == "1 with 1\n2 with 2\n"
