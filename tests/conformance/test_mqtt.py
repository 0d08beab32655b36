"""MQTT 3.1.1: CONNECT and its return codes, topics and subjects, QoS 0, wills, and what ends a connection."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest
from lib import mqtt
from lib.eventually import eventually
from lib.mqtt import MQTTClient, Packet, Publish, connect, packet, publish, string, subscribe
from lib.process import ServerProcess

CONFIG = """
listen: 127.0.0.1:<client>
server_name: S
max_payload: 100000
jetstream { store_dir: "<store>", max_mem: 100MB, max_file: 100MB }
mqtt { listen: 127.0.0.1:<mqtt> }
"""


@pytest.fixture
def server(serve: Callable[[str], ServerProcess]) -> ServerProcess:
    return serve(CONFIG)


@pytest.fixture
def port(server: ServerProcess) -> int:
    return server.ports["mqtt"]


REFUSED = {
    "level": (connect("x", level=3), 1),
    "level 5": (connect("x", level=5), 1),
    "no id and not clean": (connect("", clean=False), 2),
    "id that is no token": (connect("a.b"), 2),
    "id with a wildcard": (connect("a*"), 2),
    "id with a null": (connect("a\0b"), 2),
    "empty user": (connect("x", user=""), 4),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_return_code(port: int, case: str) -> None:
    raw, code = REFUSED[case]
    with MQTTClient(port) as client:
        client.send(raw)
        assert client.read() == Packet(mqtt.CONNACK, 0, bytes((0, code)))
        assert client.closed()


BROKEN = {
    "not connect": packet(mqtt.PINGREQ),
    "http": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "older protocol": connect("x", protocol="MQIsdp", level=3),
    "protocol": connect("x", protocol="HTTP"),
    "reserved flag": connect("x", flags=1),
    "will qos without will": connect("x", flags=0x08),
    "will retain without will": connect("x", flags=0x20),
    "will qos 3": connect("x", will=Publish("a", b"", 3)),
    "password without user": connect("x", password="p"),
    "empty will topic": connect("x", will=Publish("", b"")),
    "wildcard in will": connect("x", will=Publish("a/#", b"")),
    "cut short": packet(mqtt.CONNECT, 0, connect("x")[2:-1]),
    "flags of connect": b"\x11" + connect("x")[1:],
    "length": b"\x10\xff\xff\xff\xff\x01",
    "too long": b"\x10\xff\xff\xff\x7f",
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_beginning_is_closed_without_a_word(port: int, case: str) -> None:
    with MQTTClient(port) as client:
        client.send(BROKEN[case])
        assert client.closed()


LATER = {
    "second connect": connect("x"),
    "wildcard in topic": publish("a/+"),
    "empty topic": publish(""),
    "blank in topic": publish("a b"),
    "not utf-8": packet(mqtt.PUBLISH, 0, struct.pack("!H", 2) + b"\xff\xfe"),
    "null": publish("a\0"),
    "qos 3": publish("a", b"", 3, 1),
    "no packet id": publish("a", b"", 1, 0),
    "topic longer than packet": packet(mqtt.PUBLISH, 0, struct.pack("!H", 9) + b"abc"),
    "no filters": packet(mqtt.SUBSCRIBE, 2, b"\0\1"),
    "subscribe without id": subscribe(0, ("a", 0)),
    "subscribe flags": packet(mqtt.SUBSCRIBE, 0, subscribe(1, ("a", 0))[2:]),
    "qos of filter": subscribe(1, ("a", 3)),
    "empty filter": subscribe(1, ("", 0)),
    "filter cut short": packet(mqtt.SUBSCRIBE, 2, b"\0\1" + string("abc")[:-1]),
    "puback without id": packet(mqtt.PUBACK, 0, b"\0\0"),
    "puback too long": packet(mqtt.PUBACK, 0, b"\0\1\2"),
    "ping with a body": packet(mqtt.PINGREQ, 0, b"x"),
    "pubrel flags": packet(mqtt.PUBREL, 0, b"\0\1"),
    "server's packet": packet(mqtt.CONNACK, 0, b"\0\0"),
    "type 0": packet(0, 0, b""),
    "type 15": packet(15, 0, b""),
    "payload": publish("a", bytes(100_000)),
}


@pytest.mark.parametrize("case", LATER)
def test_a_broken_packet_ends_the_connection(port: int, case: str) -> None:
    with MQTTClient.joined(port) as client:
        client.send(LATER[case])
        assert client.closed()


def test_packets_in_pieces(port: int, unique: str) -> None:
    with MQTTClient(port) as client:
        raw = connect("") + subscribe(1, (unique, 0)) + publish(unique, b"x" * 300) + packet(mqtt.PINGREQ)
        for at in range(0, len(raw), 3):
            client.send(raw[at : at + 3])
        assert client.read().kind == mqtt.CONNACK
        assert client.read().kind == mqtt.SUBACK
        assert client.message() == Publish(unique, b"x" * 300)
        assert client.read().kind == mqtt.PINGRESP


TOPICS = [
    ("a/b", "a.b"),
    ("/a", "/.a"),
    ("a/", "a./"),
    ("/", "/./"),
    ("a//b", "a./.b"),
    ("//a", "/./.a"),
    ("a.b", "a//b"),
    ("a.b/c", "a//b.c"),
    (".", "//"),
    ("ä/ß", "ä.ß"),
]


@pytest.mark.parametrize(("topic", "subject"), TOPICS)
def test_a_topic_is_a_subject(server: ServerProcess, port: int, topic: str, subject: str) -> None:
    with server.connect() as nats, MQTTClient.joined(port) as client, MQTTClient.joined(port) as other:
        nats.sub(subject, "1")
        nats.sync()
        assert other.subscribe((topic, 0)) == [0]
        client.publish(topic, b"one")
        found = nats.msg()
        assert (found.subject, found.body, found.header) == (
            subject,
            b"one",
            b"NATS/1.0\r\nNmqtt-Pub:0\r\n\r\n",
        )
        assert other.message() == Publish(topic, b"one")
        nats.pub(subject, b"two")
        assert other.message() == Publish(topic, b"two")


FILTERS = [
    ("a/+", ["a/b", "a/c", "a/"], ["a", "a/b/c", "b/a"]),
    ("a/#", ["a", "a/b", "a/b/c", "a/"], ["b", "ab"]),
    ("+", ["a"], ["/a", "$a", "a/b"]),
    ("#", ["a", "/a", "a/b/c"], ["$a", "$a/b"]),
    ("+/b", ["a/b", "/b"], ["$a/b", "b"]),
    ("$a/#", ["$a/b", "$a"], ["a/b"]),
    ("a/+/c", ["a/b/c", "a//c"], ["a/c"]),
]


@pytest.mark.parametrize(("pattern", "matching", "others"), FILTERS)
def test_a_filter(port: int, unique: str, pattern: str, matching: list[str], others: list[str]) -> None:
    with MQTTClient.joined(port) as client, MQTTClient.joined(port) as sender:
        assert client.subscribe((pattern, 0)) == [0]
        for topic in others:
            sender.publish(topic, unique.encode())
        for topic in matching:
            sender.publish(topic, unique.encode())
            while (found := client.message()).payload != unique.encode():
                pass  # of another test
            assert found.topic == topic


@pytest.mark.parametrize("pattern", ["a/#/b", "a b", "$MQTT.sub.x", "$MQTT/sub/x", "a/b\t"])
def test_a_filter_that_cannot_be(port: int, pattern: str) -> None:
    with MQTTClient.joined(port) as client:
        expected = [0, 0x80, 0] if pattern != "$MQTT.sub.x" else [0, 0, 0]
        assert client.subscribe(("a", 0), (pattern, 1 if len(expected) < 3 else 0), ("b", 0)) == expected


def test_unsubscribe(port: int, unique: str, implementation: str) -> None:
    with MQTTClient.joined(port) as client:
        assert client.subscribe((f"{unique}/#", 0), (f"{unique}/a", 0)) == [0, 0]
        client.unsubscribe(f"{unique}/#", "never/there")
        client.send(publish(f"{unique}/b", b"1"), publish(f"{unique}/a", b"2"), publish(unique, b"3"))
        assert client.message() == Publish(f"{unique}/a", b"2")
        if implementation == "pyjs":  # nats-server forgets to end what it has for the level above
            client.flush()


def test_the_same_id_again(port: int, unique: str) -> None:
    with MQTTClient.joined(port) as other:
        assert other.subscribe((unique, 0)) == [0]
        first = MQTTClient.joined(port, unique, will=Publish(unique, b"gone"))
        with first, MQTTClient.joined(port, unique) as second:
            assert first.closed()
            second.flush()
            other.flush()  # no will of a client that was replaced
            with MQTTClient(port) as third:
                third.send(connect(unique))
                assert third.closed()  # after a second, without a word
            second.flush()


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_a_will(port: int, unique: str, qos: int) -> None:
    with MQTTClient.joined(port) as other:
        assert other.subscribe((unique, qos)) == [qos]
        MQTTClient.joined(port, will=Publish(unique, b"gone", qos)).close()
        found = other.message()
        assert (found.topic, found.payload, found.qos) == (unique, b"gone", qos)


def test_no_will_after_disconnect(port: int, unique: str) -> None:
    with MQTTClient.joined(port) as other:
        assert other.subscribe((unique, 0)) == [0]
        MQTTClient.joined(port, will=Publish(unique, b"gone")).disconnect()
        other.send(publish(unique, b"next"))
        assert other.message() == Publish(unique, b"next")


def test_a_will_after_a_broken_packet(port: int, unique: str) -> None:
    with MQTTClient.joined(port) as other, MQTTClient.joined(port, will=Publish(unique, b"gone")) as client:
        assert other.subscribe((unique, 0)) == [0]
        client.send(packet(15))
        assert other.message() == Publish(unique, b"gone")


def test_keep_alive(port: int, unique: str) -> None:
    with MQTTClient.joined(port) as other:
        assert other.subscribe((unique, 0)) == [0]
        with MQTTClient.joined(port, keep_alive=1, will=Publish(unique, b"gone")):
            assert other.message() == Publish(unique, b"gone")


def test_retained_messages(port: int, unique: str) -> None:
    with MQTTClient.joined(port) as client:
        client.publish(f"{unique}/a", b"old", flags=1)
        client.publish(f"{unique}/a", b"new", 1, flags=1)
        client.publish(f"{unique}/b", b"live")

        def kept() -> list[Publish]:
            with MQTTClient.joined(port) as other:
                assert other.subscribe((f"{unique}/#", 1)) == [1]
                other.send(packet(mqtt.PINGREQ))
                found = []
                while (one := other.read()).kind != mqtt.PINGRESP:
                    other.unread.append(one)
                    found.append(other.message())
                return found

        eventually(lambda: [one[:4] for one in kept()] == [(f"{unique}/a", b"new", 1, True)])
        client.publish(f"{unique}/a", b"", flags=1)
        eventually(lambda: kept() == [])


def test_a_retained_message_goes_to_those_who_are_there_without_its_mark(port: int, unique: str) -> None:
    with MQTTClient.joined(port) as client:
        assert client.subscribe((unique, 0)) == [0]
        client.send(publish(unique, b"x", flags=1))
        assert client.message() == Publish(unique, b"x")
