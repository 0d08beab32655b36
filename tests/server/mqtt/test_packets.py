"""Packets, topics and records as bytes: read whole or in pieces, and hostile ones."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lib import mqtt
from pyjs.protocol.errors import PeerError
from pyjs.protocol.wire.ops import VIOLATION
from pyjs.server.mqtt import packets, records, sparkplug, topics
from pyjs.server.mqtt.parser import MQTTParser

MOST = 10_000
NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
SENT = st.lists(
    st.one_of(
        st.builds(mqtt.publish, NAMES, st.binary(max_size=300), st.integers(0, 2), st.integers(1, 65_535)),
        st.builds(
            lambda number, name, qos: mqtt.subscribe(number, (name, qos)),
            st.integers(1, 9),
            NAMES,
            st.integers(0, 2),
        ),
        st.just(mqtt.packet(mqtt.PINGREQ)),
    ),
    max_size=6,
)


def parser(most: int = MOST) -> MQTTParser:
    """A parser whose client has connected."""
    made = MQTTParser(most)
    assert made.feed(mqtt.connect("x"))[0][0] == packets.CONNECT
    made.connected()
    return made


def feed(made: MQTTParser, data: bytes) -> list[Any]:
    """Everything that `data` brings."""
    found = list(made.feed(data))
    while made.left and not (found and found[-1][0] == VIOLATION):
        found += made.feed(data[-made.left :])
    return found


@given(SENT, st.lists(st.integers(1, 50), min_size=1, max_size=8))
def test_pieces_make_no_difference(sent: list[bytes], cuts: list[int]) -> None:
    data, made, found, at, number = b"".join(sent), parser(), [], 0, 0
    while at < len(data):
        size = cuts[number % len(cuts)]
        found += feed(made, data[at : at + size])
        at, number = at + size, number + 1
    assert found == feed(parser(), data)
    assert len(found) == len(sent)
    assert made.buffer.size == 0


@given(st.binary(max_size=400), st.lists(st.integers(1, 50), min_size=1, max_size=8), st.booleans())
def test_any_bytes_are_packets_or_a_violation(data: bytes, cuts: list[int], connected: bool) -> None:
    made, at, number = parser(300) if connected else MQTTParser(300), 0, 0
    while at < len(data):
        size = cuts[number % len(cuts)]
        for kind, *rest in feed(made, data[at : at + size]):
            if kind == VIOLATION:
                assert isinstance(rest[0], PeerError)
                return
            read(kind, *rest)
        at, number = at + size, number + 1
    assert made.buffer.size <= 5 + 300 + 65_539


def read(kind: int, flags: int, body: bytes) -> Any:
    """What a packet says; None if it breaks the protocol."""
    try:
        if kind == packets.CONNECT:
            return packets.read_connect(body)
        if kind == packets.PUBLISH:
            return packets.read_publish(flags, body)
        if kind in (packets.SUBSCRIBE, packets.UNSUBSCRIBE):
            return packets.read_filters(kind, body)
        return packets.read_packet_id(body) if body else None
    except PeerError:
        return None


@pytest.mark.parametrize(
    "data",
    [
        b"\x30\xff\xff\xff\x7f",
        b"\x82\xff\xff\xff\x7f",
        b"\x30" + packets.length(MOST + 65_540),
        b"\x30\x80\x80\x80\x80",
    ],
)
def test_a_packet_that_will_be_too_large_is_refused_at_once(data: bytes) -> None:
    assert parser().feed(data)[-1][0] == VIOLATION


def test_a_connect_is_bounded_before_it_is_kept() -> None:
    assert MQTTParser(1 << 28).feed(b"\x10" + packets.length(400_000))[-1][0] == VIOLATION
    waiting = MQTTParser(MOST)
    assert waiting.feed(mqtt.connect("x")[:-1]) == []
    assert waiting.awaits_connect


def test_what_follows_connect_waits_for_the_login() -> None:
    made = MQTTParser(MOST)
    assert len(made.feed(mqtt.connect("x") + mqtt.packet(mqtt.PINGREQ))) == 1
    assert made.connected() == mqtt.packet(mqtt.PINGREQ)


@given(st.integers(0, packets.LARGEST))
def test_lengths(size: int) -> None:
    written = packets.length(size)
    assert sum((digit & 127) << 7 * at for at, digit in enumerate(written)) == size
    assert [digit > 127 for digit in written] == [True] * (len(written) - 1) + [False]


@given(st.text(st.sampled_from("a/.ß$b"), min_size=1, max_size=12))
def test_a_topic_comes_back(topic: str) -> None:
    subject = topics.to_subject(topic)
    assert all(subject.split("."))
    assert topics.to_topic(subject.encode()).decode() == topic


@given(st.text(max_size=12))
def test_any_topic_has_a_subject_or_an_error(topic: str) -> None:
    try:
        subject = topics.to_subject(topic)
    except topics.TopicError:
        return
    assert topic == "" or all(subject.split("."))


@given(st.binary(max_size=60))
def test_any_subject_has_a_topic(subject: bytes) -> None:
    assert len(topics.to_topic(subject)) <= len(subject)


@given(st.binary(max_size=600), st.integers(0, 1 << 60))
def test_any_payload_gets_a_time_or_stays(payload: bytes, at: int) -> None:
    timed = sparkplug.with_time(payload, at)
    assert timed == payload or sparkplug.with_time(timed, at) == timed or len(payload) > 512
    assert sparkplug.with_time(b"\x18\x05" * 300_000, at)[:600_000] == b"\x18\x05" * 300_000


@given(st.binary(max_size=80))
def test_records_of_others_are_read_or_refused(body: bytes) -> None:
    records.read_retained(b"t", body, body)
    records.read_incoming(b"NATS/1.0\r\nNmqtt-Pub:" + body + b"\r\nNmqtt-Subject:a\r\n\r\n")
    records.read_pubrel(b"NATS/1.0\r\nNmqtt-PubRel:" + body + b"\r\n\r\n")
    records.published_qos(b"NATS/1.0\r\nNmqtt-Pub:" + body + b"\r\n\r\n")
    with pytest.raises(ValueError):
        records.read_session(b"x" + body)


@pytest.mark.parametrize(
    "body", [b"[]", b"3", b'{"subs":[1]}', b'{"cons":{"a":{"x":1}}}', b'{"subs":{"a":"x"}}', b'{"pubrel":3}']
)
def test_a_session_that_is_none(body: bytes) -> None:
    with pytest.raises(ValueError):
        records.read_session(body)


def test_a_session_comes_back() -> None:
    consumer = {"durable_name": "d", "deliver_subject": "s"}
    record = records.SessionRecord("id", True, {"a.>": 2}, {"a.>": consumer}, consumer)
    assert records.read_session(records.session_body(record, "me")) == record


def test_nothing_is_imported_without_the_block() -> None:
    code = "import sys, pyjs.server.app; print([name for name in sys.modules if 'mqtt' in name])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"
