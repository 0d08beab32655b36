"""Push consumers: delivery with interest, heartbeats, flow control, groups, rate and replay."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

import pytest
from lib.eventually import eventually
from lib.jetstream import MILLISECOND, JetStream
from lib.wire import Msg


@pytest.fixture
def stream(js: JetStream, unique: str) -> str:
    js.create(unique)
    js.fill(unique, 5)
    return unique


def push(js: JetStream, stream: str, **config: Any) -> str:
    """Subscribe to a delivery subject with sid "push", create consumer C for it; returns the subject."""
    to = f"to.{stream}"
    js.wire.sub(to, "push")
    js.consumer(stream, "C", deliver_subject=to, **config)
    return to


def bodies(messages: list[Msg]) -> list[bytes]:
    return [m.body for m in messages]


def test_messages_are_pushed_with_their_own_subject(js: JetStream, stream: str) -> None:
    push(js, stream)
    messages = js.wire.msgs(5)
    assert bodies(messages) == [b"1", b"2", b"3", b"4", b"5"]
    assert {m.subject for m in messages} == {stream}
    assert {m.sid for m in messages} == {"push"}
    assert messages[0].reply.startswith(f"$JS.ACK.{stream}.C.1.1.1.")
    js.publish(stream, "6")
    assert js.wire.msg().body == b"6"


def test_delivery_waits_for_interest(js: JetStream, stream: str) -> None:
    to = f"to.{stream}"
    info = js.consumer(stream, "C", deliver_subject=to)
    assert "push_bound" not in info or info["push_bound"] is False
    assert js.consumer_info(stream, "C")["delivered"]["consumer_seq"] == 0
    js.wire.sub(to, "push")
    assert bodies(js.wire.msgs(5))[-1] == b"5"
    assert js.consumer_info(stream, "C")["push_bound"] is True


def test_delivery_stops_when_interest_goes_and_resumes(js: JetStream, stream: str) -> None:
    to = push(js, stream, ack_policy="none")
    js.wire.msgs(5)
    js.wire.send("UNSUB push\r\n")
    js.wire.sync()
    eventually(lambda: not js.consumer_info(stream, "C").get("push_bound"))
    js.publish(stream, "6")
    assert js.wire.sync() == []
    js.wire.sub(to, "again")
    assert js.wire.msg().body == b"6"


def test_a_group_shares(js: JetStream, stream: str) -> None:
    to = f"to.{stream}"
    js.wire.sub(to, "one", "g")
    js.wire.sub(to, "two", "g")
    js.consumer(stream, "C", deliver_subject=to, deliver_group="g", ack_policy="none")
    js.wire.msgs(5)
    js.fill(stream, 95)
    sids = Counter(m.sid for m in js.wire.msgs(95))
    assert set(sids) == {"one", "two"}
    assert sum(sids.values()) == 95


def test_a_subscription_without_the_group_is_no_interest(js: JetStream, stream: str) -> None:
    to = f"to.{stream}"
    js.wire.sub(to, "plain")
    js.consumer(stream, "C", deliver_subject=to, deliver_group="g")
    js.call("INFO")
    assert js.wire.sync() == []


def test_idle_heartbeats_tell_where_we_are(js: JetStream, stream: str) -> None:
    push(js, stream, ack_policy="none", idle_heartbeat=100 * MILLISECOND)
    js.wire.msgs(5)
    beat = js.wire.msg()
    assert beat.header.startswith(b"NATS/1.0 100 Idle Heartbeat\r\n")
    assert (beat.body, beat.reply) == (b"", "")
    assert beat.subject == f"to.{stream}"
    assert beat.headers == {"Nats-Last-Consumer": "5", "Nats-Last-Stream": "5"}


def test_heartbeats_do_not_come_between_busy_messages(js: JetStream, stream: str) -> None:
    push(js, stream, ack_policy="none", idle_heartbeat=600 * MILLISECOND)
    js.wire.msgs(5)
    began = time.monotonic()
    while time.monotonic() - began < 0.9:
        js.publish(stream, "x")
        assert js.wire.msg().body == b"x"


def test_flow_control_asks_and_stalls_until_answered(js: JetStream, unique: str) -> None:
    js.create(unique)
    body = "x" * 100_000
    for _ in range(60):
        js.publish(unique, body)
    push(js, unique, ack_policy="none", flow_control=True, idle_heartbeat=300 * MILLISECOND)
    seen = 0
    asked: Msg | None = None
    stalled: Msg | None = None
    while stalled is None:
        message = js.wire.msg()
        if message.status == "100 FlowControl Request":
            asked = asked or message
        elif message.status == "100 Idle Heartbeat":
            stalled = message
        else:
            seen += 1
    assert asked is not None
    assert asked.reply.startswith(f"$JS.FC.{unique}.C.")
    assert seen < 60
    assert stalled.headers["Nats-Consumer-Stalled"] == asked.reply
    js.wire.pub(asked.reply)
    while seen < 60:
        message = js.wire.msg()
        if message.status == "100 FlowControl Request" or "Nats-Consumer-Stalled" in message.headers:
            js.wire.pub(message.reply or message.headers["Nats-Consumer-Stalled"])
        elif not message.status:
            seen += 1


def test_a_rate_limit_slows_down(js: JetStream, unique: str) -> None:
    js.create(unique, max_msg_size=2000)
    for _ in range(10):
        js.publish(unique, "x" * 1000)
    began = time.monotonic()
    push(js, unique, ack_policy="none", rate_limit_bps=160_000)
    js.wire.msgs(10)
    assert time.monotonic() - began > 0.2


def test_replay_original_keeps_the_gaps(js: JetStream, unique: str) -> None:
    js.create(unique)
    js.publish(unique, "1")
    began = time.monotonic()
    while time.monotonic() - began < 0.3:
        js.call("INFO")
    js.publish(unique, "2")
    began = time.monotonic()
    push(js, unique, ack_policy="none", replay_policy="original")
    js.wire.msgs(2)
    assert time.monotonic() - began >= 0.28


def test_max_ack_pending_holds_a_push_consumer(js: JetStream, stream: str) -> None:
    push(js, stream, max_ack_pending=2)
    one, _ = js.wire.msgs(2)
    assert js.wire.sync() == []
    js.ack(one)
    assert js.wire.msg().body == b"3"


def test_redelivery_goes_to_the_delivery_subject(js: JetStream, stream: str) -> None:
    push(js, stream, ack_wait=100 * MILLISECOND)
    messages = js.wire.msgs(5)
    for message in messages[1:]:
        js.wire.pub(message.reply, "+ACK")
    again = js.wire.msg()
    assert again.body == b"1"
    assert again.reply.split(".")[4] == "2"


def test_an_ephemeral_push_consumer_goes_with_its_interest(js: JetStream, stream: str) -> None:
    to = f"to.{stream}"
    js.wire.sub(to, "push")
    config = {"deliver_subject": to, "inactive_threshold": 100 * MILLISECOND}
    name = js.call(f"CONSUMER.CREATE.{stream}", {"stream_name": stream, "config": config})["name"]
    js.wire.msgs(5)
    assert name in js.call(f"CONSUMER.NAMES.{stream}")["consumers"]
    js.wire.send("UNSUB push\r\n")
    eventually(lambda: name not in js.call(f"CONSUMER.NAMES.{stream}")["consumers"])


def test_a_deleted_push_consumer_is_silent(js: JetStream, stream: str) -> None:
    push(js, stream, ack_policy="none")
    js.wire.msgs(5)
    js.call(f"CONSUMER.DELETE.{stream}.C")
    js.publish(stream, "6")
    assert js.wire.sync() == []


def test_filters_and_start_apply_to_push_too(js: JetStream, unique: str) -> None:
    js.create(unique, subjects=[f"{unique}.*"])
    for i in range(1, 7):
        js.publish(f"{unique}.{'ab'[i % 2]}", str(i))
    push(
        js,
        unique,
        filter_subject=f"{unique}.b",
        deliver_policy="by_start_sequence",
        opt_start_seq=3,
    )
    assert bodies(js.wire.msgs(2)) == [b"3", b"5"]
    assert js.wire.sync() == []
