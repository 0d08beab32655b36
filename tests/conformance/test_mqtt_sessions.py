"""MQTT sessions: QoS 1 and 2 both ways, what is kept of a client that is away, records in JetStream."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from lib import mqtt
from lib.eventually import eventually
from lib.jetstream import JetStream
from lib.mqtt import MQTTClient, Packet, Publish, answer, packet, publish
from lib.process import ServerProcess

CONFIG = """
listen: 127.0.0.1:<client>
server_name: S
jetstream { store_dir: "<store>", max_mem: 100MB, max_file: 100MB }
mqtt { listen: 127.0.0.1:<mqtt>, ack_wait: "300ms", max_ack_pending: 10 }
"""
STREAMS = ["$MQTT_msgs", "$MQTT_out", "$MQTT_qos2in", "$MQTT_rmsgs", "$MQTT_sess"]


@pytest.fixture
def server(serve: Callable[[str], ServerProcess]) -> ServerProcess:
    return serve(CONFIG)


@pytest.fixture
def port(server: ServerProcess) -> int:
    return server.ports["mqtt"]


@pytest.fixture
def away(port: int, unique: str) -> Iterator[str]:
    """The id of a client that has subscribed to its own id with QoS 2, and is away."""
    client = MQTTClient.joined(port, unique, clean=False)
    assert client.subscribe((unique, 2)) == [2]
    client.disconnect()
    yield unique
    with MQTTClient.joined(port, unique):
        pass  # the session ends


def sent(js: JetStream, stream: str, subject: str) -> dict[str, Any]:
    """Return the last message of a stream on a subject."""
    found: dict[str, Any] = js.call(f"STREAM.MSG.GET.{stream}", {"last_by_subj": subject})["message"]
    return found


def received(client: MQTTClient, count: int) -> dict[tuple[str, bytes], int]:
    """Return the QoS of `count` messages by topic and payload; all that the QoS asks for is done."""
    found: dict[tuple[str, bytes], int] = {}
    done = 0
    while done < count:
        one = client.read()
        if one.kind == mqtt.PUBREL:
            client.send(packet(mqtt.PUBCOMP, 0, one.body))
            done += 1
            continue
        client.unread.append(one)
        message = client.message()
        assert (message.topic, message.payload) not in found
        found[message.topic, message.payload] = message.qos
        client.send(answer(mqtt.PUBACK if message.qos == 1 else mqtt.PUBREC, message.packet_id))
        done += message.qos == 1
    return found


@pytest.mark.parametrize("granted", [0, 1, 2])
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_the_lower_qos_counts(port: int, unique: str, qos: int, granted: int) -> None:
    with MQTTClient.joined(port) as client, MQTTClient.joined(port) as sender:
        assert client.subscribe((unique, granted)) == [granted]
        sender.publish(unique, b"x", qos)
        found = client.message()
        assert found[:4] == (unique, b"x", min(qos, granted), False)
        if found.qos == 1:
            client.send(answer(mqtt.PUBACK, found.packet_id))
        elif found.qos == 2:
            client.send(answer(mqtt.PUBREC, found.packet_id))
            assert client.read() == Packet(mqtt.PUBREL, 2, found.packet_id.to_bytes(2, "big"))
            client.send(answer(mqtt.PUBCOMP, found.packet_id))
        client.flush()


def test_a_message_is_sent_again_until_there_is_an_answer(port: int, unique: str) -> None:
    with MQTTClient.joined(port) as client, MQTTClient.joined(port) as sender:
        assert client.subscribe((unique, 1)) == [1]
        sender.publish(unique, b"x", 1)
        first = client.message()
        assert not first.dup
        again = client.message()
        assert again == first._replace(dup=True)
        client.send(answer(mqtt.PUBACK, first.packet_id))
        sender.publish(unique, b"y", 1, 2)
        while (found := client.message()).payload != b"y":
            assert found.packet_id == first.packet_id  # it was on its way


def test_a_client_that_comes_back_gets_again_what_it_has_not_answered(
    launch: Callable[[str], ServerProcess], implementation: str
) -> None:
    wait = "1h" if implementation == "pyjs" else "1s"  # nats-server waits as long in any case
    port = launch(CONFIG.replace("300ms", wait)).ports["mqtt"]
    with MQTTClient.joined(port, "c", clean=False) as client, MQTTClient.joined(port) as sender:
        assert client.subscribe(("a", 2)) == [2]
        sender.publish("a", b"1", 2)
        sender.publish("a", b"2", 1, 2)
        first, second = client.message(), client.message()
        client.send(answer(mqtt.PUBREC, first.packet_id))
        pubrel = Packet(mqtt.PUBREL, 2, first.packet_id.to_bytes(2, "big"))
        assert client.read() == pubrel
    with MQTTClient.joined(port, "c", clean=False, present=True) as client:
        found = {client.read(), client.read()}
        assert pubrel in found
        client.unread.extend(found - {pubrel})
        assert client.message() == second._replace(dup=True)


def test_many_large_packets_at_once(port: int, unique: str) -> None:
    """Reads cut them anywhere, and each read that completes one brings more."""
    payloads = [bytes((number,)) * (9000 + number) for number in range(60)]
    with MQTTClient.joined(port) as hears, MQTTClient.joined(port) as sends:
        hears.subscribe((unique, 0))
        sends.send(*[publish(unique, payload, 1, number + 1) for number, payload in enumerate(payloads)])
        answered = [sends.read() for _ in payloads]
        assert sorted(one.body for one in answered) == [struct.pack("!H", n + 1) for n in range(60)]
        assert [hears.message().payload for _ in payloads] == payloads


def test_a_message_of_qos_2_may_be_as_large_as_any(port: int, unique: str) -> None:
    payload = b"x" * 1_000_000
    with MQTTClient.joined(port) as client:
        client.publish(unique, payload, 2, flags=1)
        client.subscribe((unique, 2))
        assert client.message().payload == payload


def test_a_pubrel_is_sent_again_until_there_is_an_answer(port: int, unique: str) -> None:
    with MQTTClient.joined(port) as client, MQTTClient.joined(port) as sender:
        assert client.subscribe((unique, 2)) == [2]
        sender.publish(unique, b"x", 2)
        found = client.message()
        client.send(answer(mqtt.PUBREC, found.packet_id))
        pubrel = Packet(mqtt.PUBREL, 2, found.packet_id.to_bytes(2, "big"))
        assert client.read() == pubrel
        assert client.read() == pubrel
        client.send(answer(mqtt.PUBCOMP, found.packet_id))


def test_a_qos_2_message_that_comes_twice_is_delivered_once(port: int, unique: str) -> None:
    with MQTTClient.joined(port, unique + "sender", clean=False) as sender, MQTTClient.joined(port) as client:
        assert client.subscribe((unique, 0)) == [0]
        for flags in (0, 8):
            sender.send(publish(unique, b"x", 2, 7, flags=flags))
            assert sender.read() == Packet(mqtt.PUBREC, 0, b"\0\7")
        for _ in range(2):
            sender.send(answer(mqtt.PUBREL, 7))
            assert sender.read() == Packet(mqtt.PUBCOMP, 0, b"\0\7")
        assert client.message() == Publish(unique, b"x")
        client.flush()


def test_what_comes_while_a_client_is_away(port: int, away: str) -> None:
    with MQTTClient.joined(port) as sender:
        sender.publish(away, b"0", 0)
        sender.publish(away, b"1", 1)
        sender.publish(away, b"2", 2)
    with MQTTClient.joined(port, away, clean=False, present=True) as client:
        found = [client.message(), client.message()]
        assert [(one.payload, one.qos) for one in found] == [(b"1", 1), (b"2", 2)]
        client.send(answer(mqtt.PUBACK, found[0].packet_id), answer(mqtt.PUBREC, found[1].packet_id))
        assert client.read().kind == mqtt.PUBREL
        client.send(answer(mqtt.PUBCOMP, found[1].packet_id))
        client.flush()


def test_a_clean_session_forgets(server: ServerProcess, port: int, away: str) -> None:
    with (
        MQTTClient.joined(port, away) as client,
        MQTTClient.joined(port) as sender,
        JetStream.of(server) as js,
    ):
        sender.publish(away, b"1", 1)
        client.flush()
        names = js.call("CONSUMER.NAMES.$MQTT_msgs")["consumers"]
        session = json.loads(base64.b64decode(sent(js, "$MQTT_sess", "$MQTT.sess.>")["data"]))
        assert session.keys() <= {"origin", "id", "clean"}
        client.disconnect()
    with JetStream.of(server) as js:
        eventually(lambda: js.call("CONSUMER.NAMES.$MQTT_msgs")["consumers"] == names)
    with MQTTClient.joined(port, away, clean=False) as client:
        client.flush()


def test_unsubscribe_ends_the_consumer(server: ServerProcess, port: int, unique: str) -> None:
    with MQTTClient.joined(port, unique) as client, JetStream.of(server) as js:

        def consumers() -> list[str]:
            names: list[str] = js.call("CONSUMER.NAMES.$MQTT_msgs")["consumers"]
            infos = [js.call(f"CONSUMER.INFO.$MQTT_msgs.{name}")["config"] for name in names]
            return sorted(one["filter_subject"] for one in infos if unique in one["filter_subject"])

        assert client.subscribe((f"{unique}/#", 1)) == [1]
        assert consumers() == [f"$MQTT.msgs.{unique}", f"$MQTT.msgs.{unique}.>"]
        client.unsubscribe(f"{unique}/#")
        eventually(lambda: consumers() == [])
        assert client.subscribe((unique, 1)) == [1]
        assert client.subscribe((unique, 0)) == [0]
        eventually(lambda: consumers() == [])


def test_no_more_is_outstanding_than_allowed(serve: Callable[[str], ServerProcess], unique: str) -> None:
    port = serve(CONFIG.replace("300ms", "30s")).ports["mqtt"]
    with MQTTClient.joined(port) as client, MQTTClient.joined(port) as sender:
        assert client.subscribe((unique, 1)) == [1]
        for number in range(15):
            sender.publish(unique, b"%d" % number, 1, number + 1)
        found = [client.message() for _ in range(10)]
        assert [one.payload for one in found] == [b"%d" % number for number in range(10)]
        assert len({one.packet_id for one in found}) == 10
        for one in found:
            client.send(answer(mqtt.PUBACK, one.packet_id))
        assert [client.message().payload for _ in range(5)] == [b"%d" % number for number in range(10, 15)]


def test_the_streams(server: ServerProcess, port: int) -> None:
    with MQTTClient.joined(port), JetStream.of(server) as js:
        assert js.call("STREAM.NAMES")["streams"] == STREAMS
        found = {name: js.info(name)["config"] for name in STREAMS}
        keys = (
            "subjects",
            "retention",
            "storage",
            "max_msgs_per_subject",
            "discard",
            "discard_new_per_subject",
        )
        assert {name: [one.get(key) for key in keys] for name, one in found.items()} == {
            "$MQTT_msgs": [["$MQTT.msgs.>"], "interest", "file", -1, "old", None],
            "$MQTT_out": [["$MQTT.out.>"], "interest", "file", -1, "old", None],
            "$MQTT_qos2in": [["$MQTT.qos2.in.>"], "limits", "file", 1, "new", True],
            "$MQTT_rmsgs": [["$MQTT.rmsgs.>"], "limits", "file", 1, "old", None],
            "$MQTT_sess": [["$MQTT.sess.>"], "limits", "file", 1, "old", None],
        }


def test_a_session_record(server: ServerProcess, port: int, away: str) -> None:
    with JetStream.of(server) as js:
        record = json.loads(base64.b64decode(sent(js, "$MQTT_sess", "$MQTT.sess.>")["data"]))
        hashed = sent(js, "$MQTT_sess", "$MQTT.sess.>")["subject"].rpartition(".")[2]
        consumer, pubrel = record["cons"][away], record["pubrel"]
        assert record.keys() == {"origin", "id", "subs", "cons", "pubrel"}
        assert (record["id"], record["subs"]) == (away, {away: 2})
        assert consumer["durable_name"].startswith(f"{hashed}_")
        assert consumer["deliver_subject"].startswith("$MQTT.sub.")
        common = {
            "deliver_policy": "new",
            "ack_policy": "explicit",
            "ack_wait": 300_000_000,
            "max_ack_pending": 10,
        }
        assert consumer | common | {"filter_subject": f"$MQTT.msgs.{away}"} == consumer
        names = {
            "durable_name": f"$MQTT_PUBREL_{hashed}",
            "deliver_subject": f"$MQTT.deliver.pubrel.{hashed}",
            "filter_subject": f"$MQTT.out.pubrel.{hashed}",
        }
        assert pubrel | common | names == pubrel


def test_stored_messages(server: ServerProcess, port: int, away: str) -> None:
    with MQTTClient.joined(port, f"{away}S") as client, JetStream.of(server) as js:
        client.publish(away, b"one", 1)
        found = sent(js, "$MQTT_msgs", f"$MQTT.msgs.{away}")
        assert base64.b64decode(found["hdrs"]) == b"NATS/1.0\r\nNmqtt-Pub:1\r\n\r\n"
        client.send(publish(away, b"two", 2, 5, flags=1))
        assert client.read().kind == mqtt.PUBREC
        found = sent(js, "$MQTT_qos2in", f"$MQTT.qos2.in.{away}S.5")
        assert (
            base64.b64decode(found["hdrs"])
            == f"NATS/1.0\r\nNmqtt-Pub:25\r\nNmqtt-Subject:{away}\r\n\r\n".encode()
        )
        client.send(answer(mqtt.PUBREL, 5))
        assert client.read().kind == mqtt.PUBCOMP
        found = sent(js, "$MQTT_rmsgs", f"$MQTT.rmsgs.{away}")
        lines = f"NATS/1.0\r\nNmqtt-RTopic:{away}\r\nNmqtt-RFlags:5\r\nNmqtt-ROrigin:".encode()
        assert base64.b64decode(found["hdrs"]).startswith(lines)
        client.publish(away, b"", flags=1)


def test_messages_of_nats_and_of_mqtt(server: ServerProcess, port: int, unique: str) -> None:
    with MQTTClient.joined(port) as client, server.connect() as nats:
        nats.sub(unique, "1")
        nats.sync()
        assert client.subscribe((unique, 1)) == [1]
        nats.pub(unique, b"from nats")
        assert nats.msg().body == b"from nats"
        assert client.message() == Publish(unique, b"from nats")
        client.send(publish(unique, b"from mqtt", 1, 3))
        found = nats.msg()
        assert (found.body, found.header) == (b"from mqtt", b"NATS/1.0\r\nNmqtt-Pub:1\r\n\r\n")


def test_a_server_that_is_killed_loses_nothing(launch: Callable[[str], ServerProcess], unique: str) -> None:
    server = launch(CONFIG.replace('"300ms"', '"30s"'))
    port = server.ports["mqtt"]
    with MQTTClient.joined(port, "R", clean=False) as client:
        assert client.subscribe(("t/#", 2)) == [2]
        client.disconnect()
    with MQTTClient.joined(port, "P", clean=False) as sender:
        for number in range(1, 6):
            sender.publish("t/1", b"%d" % number, 1, number)
            sender.publish("t/2", b"%d" % number, 2, number)
        sender.publish("t/3", b"kept", 1, 9, flags=1)
        sender.send(publish("t/4", b"half", 2, 6))
        assert sender.read() == Packet(mqtt.PUBREC, 0, b"\0\6")
        server.kill()
    server.launch()
    with MQTTClient.joined(port, "P", clean=False, present=True) as sender:
        sender.send(answer(mqtt.PUBREL, 6))
        assert sender.read() == Packet(mqtt.PUBCOMP, 0, b"\0\6")
    with MQTTClient.joined(port, "R", clean=False, present=True) as client:
        found = received(client, 12)
        expected = {("t/1", b"%d" % n): 1 for n in range(1, 6)} | {("t/2", b"%d" % n): 2 for n in range(1, 6)}
        assert found == expected | {("t/3", b"kept"): 1, ("t/4", b"half"): 2}
    with MQTTClient.joined(port) as client:
        assert client.subscribe(("t/3", 0)) == [0]
        assert client.message() == Publish("t/3", b"kept", retain=True)
        client.send(packet(mqtt.DISCONNECT))


@pytest.mark.parametrize("qos", [1, 2])
def test_a_server_that_is_killed_under_load(launch: Callable[[str], ServerProcess], qos: int) -> None:
    """What was acknowledged is there; with QoS 2, once, when the client has finished what it began."""
    server = launch(
        CONFIG.replace('"300ms"', '"30s"').replace("max_ack_pending: 10", "max_ack_pending: 5000")
    )
    port, count, done = server.ports["mqtt"], 600, b"\xff" * 4
    with MQTTClient.joined(port, "R", clean=False) as client:
        assert client.subscribe(("t", qos)) == [qos]
        client.disconnect()
    acked: set[int] = set()
    with MQTTClient.joined(port, "P", clean=False) as sender:
        sender.send(*(publish("t", b"%d" % number, qos, number) for number in range(1, count + 1)))
        while len(acked) < count // 2:
            one = sender.read()
            acked.add(int.from_bytes(one.body, "big"))
            if one.kind == mqtt.PUBREC and not len(acked) % 2:
                sender.send(packet(mqtt.PUBREL, 2, one.body))
        server.kill()
    server.launch()
    with MQTTClient.joined(port, "P", clean=False, present=True) as sender:
        if qos == 2:
            sender.send(*(answer(mqtt.PUBREL, number) for number in sorted(acked)))
            while sender.read().body != max(acked).to_bytes(2, "big"):
                pass
        sender.publish("t", done, 1, count + 1)
    with MQTTClient.joined(port, "R", clean=False, present=True) as client:
        found: list[int] = []
        while (payload := client.message().payload) != done:
            found.append(int(payload))
        assert acked <= set(found)
        assert qos == 1 or len(found) == len(set(found))
