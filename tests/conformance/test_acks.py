"""Acknowledgements: every verb, redelivery after a time or on request, its limits, and the consumer info."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from lib.eventually import eventually
from lib.jetstream import ALONE, MILLISECOND, SECOND, JetStream
from lib.process import ServerProcess
from lib.wire import Msg

SHORT = 100 * MILLISECOND
LONGER = 400 * MILLISECOND  # for what has to be acknowledged before it ends


@pytest.fixture
def stream(js: JetStream, unique: str) -> str:
    js.create(unique)
    js.fill(unique, 5)
    return unique


def take(js: JetStream, stream: str, count: int = 1) -> list[Msg]:
    messages, end = js.pull(stream, "C", count)
    assert end == ""
    return messages


def nothing_to_take(js: JetStream, stream: str) -> bool:
    return js.pull(stream, "C", 1, no_wait=True, expires=0) == ([], "404 No Messages")


@pytest.mark.parametrize("body", ["", "+ACK", "+OK"])
def test_an_ack_is_confirmed_when_asked(js: JetStream, stream: str, body: str) -> None:
    js.consumer(stream, "C")
    (message,) = take(js, stream)
    confirmed = js.wire.request(message.reply, body)
    assert (confirmed.body, confirmed.header, confirmed.reply) == (b"", b"", "")
    info = js.consumer_info(stream, "C")
    assert (info["num_ack_pending"], info["ack_floor"]["stream_seq"]) == (0, 1)


def test_an_ack_without_reply_counts(js: JetStream, stream: str) -> None:
    js.consumer(stream, "C")
    (message,) = take(js, stream)
    js.wire.pub(message.reply, "+ACK")
    eventually(lambda: js.consumer_info(stream, "C")["num_ack_pending"] == 0)


def test_an_unknown_ack_body_is_no_ack(js: JetStream, stream: str) -> None:
    js.consumer(stream, "C")
    (message,) = take(js, stream)
    js.wire.pub(message.reply, "+NONSENSE")
    js.wire.sync()
    assert js.consumer_info(stream, "C")["num_ack_pending"] == 1


def test_acking_twice_is_harmless(js: JetStream, stream: str) -> None:
    js.consumer(stream, "C")
    (message,) = take(js, stream)
    js.ack(message)
    js.wire.pub(message.reply, "+ACK")
    js.wire.pub(message.reply, "-NAK")
    js.wire.sync()
    assert js.consumer_info(stream, "C")["num_ack_pending"] == 0
    assert take(js, stream)[0].body == b"2"


def test_acks_of_what_was_never_delivered_are_ignored(js: JetStream, stream: str) -> None:
    js.consumer(stream, "C")
    (message,) = take(js, stream)
    ack = message.reply.split(".")
    for sequence in ("0", "99", "x", "-1"):
        js.wire.pub(".".join([*ack[:5], sequence, sequence, *ack[7:]]), "+ACK")
    js.wire.sync()
    info = js.consumer_info(stream, "C")
    assert (info["num_ack_pending"], info["delivered"]["stream_seq"]) == (1, 1)


@pytest.mark.parametrize("retention", ["limits", "workqueue"])
@pytest.mark.parametrize("long", [False, True])
def test_acks_that_come_together_count_each(js: JetStream, unique: str, retention: str, long: bool) -> None:
    js.create(unique, retention=retention)
    js.fill(unique, 90)
    js.consumer(unique, "C")
    messages = take(js, unique, 80)
    subjects = [message.reply for message in messages]
    longer = [subject.replace("$JS.ACK.", "$JS.ACK._.szMpdrwD.", 1) for subject in subjects]
    if long:
        subjects, longer = longer, subjects
    js.wire.request(subjects[0], "+ACK")
    inbox, sent, naks, answers = js.wire.inbox(), [], set(), []
    for number, subject in enumerate(subjects[1:], 2):
        if number % 20 == 0:
            subject = longer[number - 1]
        if number % 19 == 0:
            naks.add(number)
        if number % 7 == 0:
            answers.append(number)
        reply = f" {inbox}" if number % 7 == 0 else ""
        body = "-NAK" if number in naks else ("+ACK", "+OK", "")[number % 3]
        sent.append(f"PUB {subject}{reply} {len(body)}\r\n{body}\r\n")
        if number % 30 == 0:  # never delivered
            sent.append(f"PUB $JS.ACK.{unique}.C.1.85.85.1.1 4\r\n+ACK\r\n")
    js.wire.send("".join(sent))
    assert [answer.body for answer in js.wire.msgs(len(answers))] == [b""] * len(answers)
    assert js.wire.sync() == []
    info = js.consumer_info(unique, "C")
    assert (info["num_ack_pending"], info["ack_floor"]["stream_seq"]) == (len(naks), min(naks) - 1)
    kept = 90 if retention == "limits" else 10 + len(naks)
    assert js.info(unique)["state"]["messages"] == kept
    again = take(js, unique, len(naks) + 10)
    assert [int(message.body) for message in again] == [*sorted(naks), *range(81, 91)]


@pytest.mark.parametrize("config", [{"ack_policy": "all"}, {"sample_freq": "100%"}])
def test_acks_that_come_together_are_looked_at_one_by_one(
    js: JetStream, unique: str, config: dict[str, str]
) -> None:
    js.create(unique)
    js.fill(unique, 40)
    js.wire.sub(f"$JS.EVENT.METRIC.CONSUMER.ACK.{unique}.C", "metric")
    js.consumer(unique, "C", **config)
    messages = take(js, unique, 40)
    js.ack(messages[0])
    some = messages[4:30:5]
    js.wire.send("".join(f"PUB {message.reply} 4\r\n+ACK\r\n" for message in some))
    acked = 30 if config.get("ack_policy") else 1 + len(some)
    eventually(lambda: js.consumer_info(unique, "C")["num_ack_pending"] == 40 - acked)


def test_the_long_form_of_the_ack_subject_is_accepted(js: JetStream, stream: str) -> None:
    js.consumer(stream, "C")
    (message,) = take(js, stream)
    # No domain, then eight characters of the hash of the account's name.
    long = message.reply.replace("$JS.ACK.", "$JS.ACK._.szMpdrwD.", 1)
    assert js.wire.request(long, "+ACK").status == ""
    assert js.consumer_info(stream, "C")["num_ack_pending"] == 0


def test_ack_all_acks_what_came_before(js: JetStream, stream: str) -> None:
    js.consumer(stream, "C", ack_policy="all")
    messages = take(js, stream, 4)
    js.ack(messages[2])
    info = js.consumer_info(stream, "C")
    assert (info["num_ack_pending"], info["ack_floor"]["stream_seq"]) == (1, 3)


def test_ack_none_needs_no_ack(js: JetStream, stream: str) -> None:
    js.consumer(stream, "C", ack_policy="none")
    take(js, stream, 5)
    info = js.consumer_info(stream, "C")
    assert (info["num_ack_pending"], info["ack_floor"]["stream_seq"]) == (0, 5)
    assert nothing_to_take(js, stream)


def test_a_nak_with_an_empty_request_brings_it_again(js: JetStream, stream: str) -> None:
    js.consumer(stream, "C")
    (first,) = take(js, stream)
    js.wire.pub(first.reply, "-NAK {}")
    assert b"1" in {m.body for m in take(js, stream, 5)}


def test_a_nak_brings_it_again_at_once(js: JetStream, stream: str) -> None:
    js.consumer(stream, "C")
    first, _ = take(js, stream, 2)
    js.ack(first, "-NAK")
    again = take(js, stream)[0]
    assert again.body == b"1"
    ack = again.reply.split(".")
    assert ack[4:7] == ["2", "1", "3"]
    assert js.consumer_info(stream, "C")["num_redelivered"] == 1


@pytest.mark.parametrize("body", ['-NAK {"delay": 300000000}', "-NAK 300ms"])
def test_a_nak_with_a_delay_waits(js: JetStream, stream: str, body: str) -> None:
    js.consumer(stream, "C")
    (first,) = take(js, stream)
    began = time.monotonic()
    js.ack(first, body)
    others = take(js, stream, 4)
    assert [m.body for m in others] == [b"2", b"3", b"4", b"5"]
    assert take(js, stream)[0].body == b"1"
    assert time.monotonic() - began >= 0.29


def test_ack_wait_brings_it_again(js: JetStream, stream: str) -> None:
    js.consumer(stream, "C", ack_wait=LONGER)
    (first,) = take(js, stream)
    for message in take(js, stream, 4):
        js.ack(message)
    again = take(js, stream)[0]
    assert again.body == first.body
    assert again.reply.split(".")[4] == "2"
    info = js.consumer_info(stream, "C")
    assert (info["num_redelivered"], info["num_ack_pending"]) == (1, 1)
    js.ack(again)
    info = js.consumer_info(stream, "C")
    assert (info["num_redelivered"], info["ack_floor"]["stream_seq"]) == (0, 5)


def test_work_in_progress_keeps_it(js: JetStream, stream: str) -> None:
    js.consumer(stream, "C", ack_wait=600 * MILLISECOND)
    (first, *others) = take(js, stream, 5)
    for message in others:
        js.ack(message)
    began = time.monotonic()
    while time.monotonic() - began < 1.0:
        js.wire.pub(first.reply, "+WPI")
        assert nothing_to_take(js, stream)
    assert take(js, stream)[0].body == b"1"


@pytest.mark.parametrize("body", ["+TERM", "+TERM it is broken"])
def test_a_terminated_message_does_not_come_again(js: JetStream, stream: str, body: str) -> None:
    js.consumer(stream, "C", ack_wait=5 * SECOND)
    messages = take(js, stream, 5)
    js.ack(messages[0], body)
    for message in messages[1:]:
        js.ack(message)
    info = js.consumer_info(stream, "C")
    assert (info["num_ack_pending"], info["ack_floor"]["stream_seq"]) == (0, 5)
    assert nothing_to_take(js, stream)


def test_next_acks_and_asks(js: JetStream, stream: str) -> None:
    js.consumer(stream, "C")
    (message,) = take(js, stream)
    js.wire.pub(message.reply, "+NXT", js.wire.inbox())
    assert js.wire.msg().body == b"2"
    assert js.consumer_info(stream, "C")["ack_floor"]["stream_seq"] == 1


def test_next_with_a_number_or_a_request_asks_for_more(js: JetStream, stream: str) -> None:
    js.consumer(stream, "C")
    (message,) = take(js, stream)
    js.wire.pub(message.reply, "+NXT 2", js.wire.inbox())
    two, three = js.wire.msgs(2)
    assert (two.body, three.body) == (b"2", b"3")
    js.wire.pub(three.reply, '+NXT {"batch":2,"no_wait":true}', js.wire.inbox())
    four, five = js.wire.msgs(2)
    assert (four.body, five.body) == (b"4", b"5")
    info = js.consumer_info(stream, "C")
    assert info["num_ack_pending"] == 3


def test_max_deliver_ends_redelivery_and_is_reported(js: JetStream, stream: str) -> None:
    js.wire.sub(f"$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.{stream}.C", "adv")
    js.consumer(stream, "C", ack_wait=LONGER, max_deliver=2, filter_subject=stream)
    for message in take(js, stream, 5)[1:]:
        js.ack(message)
    assert take(js, stream)[0].body == b"1"
    js.ask(stream, "C", {"batch": 1, "expires": 5 * SECOND})
    received = js.wire.msg()
    assert received.sid == "adv"
    event = received.json()
    assert event["type"] == "io.nats.jetstream.advisory.v1.max_deliver"
    assert (event["stream"], event["consumer"]) == (stream, "C")
    assert (event["stream_seq"], event["deliveries"]) == (1, 2)
    js.publish(stream, "6")
    assert js.wire.msg().body == b"6"


def test_backoff_gives_each_delivery_its_own_wait(js: JetStream, stream: str) -> None:
    config = js.consumer(stream, "C", backoff=[SHORT, 6 * SHORT], max_deliver=3)["config"]
    assert config["ack_wait"] == SHORT
    for message in take(js, stream, 5)[1:]:
        js.ack(message)
    began = time.monotonic()
    assert take(js, stream)[0].body == b"1"
    first = time.monotonic() - began
    assert take(js, stream)[0].body == b"1"
    second = time.monotonic() - began - first
    assert second > 0.5
    assert first < second


def test_what_was_not_acknowledged_comes_again_after_a_restart(
    launch: Callable[[str], ServerProcess], unique: str
) -> None:
    server = launch(ALONE)
    with JetStream.of(server) as js:
        js.create(unique, storage="file")
        js.fill(unique, 5)
        js.consumer(unique, "C", ack_wait=SHORT)
        messages = take(js, unique, 4)
        js.ack(messages[0])
        js.ack(messages[2])
    server.restart()
    with JetStream.of(server) as js:
        info = js.consumer_info(unique, "C")
        assert (info["ack_floor"]["stream_seq"], info["num_ack_pending"]) == (1, 2)
        got = {m.body for m in take(js, unique, 3)}
    assert got == {b"2", b"4", b"5"}


@pytest.mark.parametrize("often", [1, 2])
def test_the_ack_floor_stays_below_what_was_given_up_after_a_restart(
    launch: Callable[[str], ServerProcess], unique: str, often: int
) -> None:
    server = launch(ALONE)

    def given_up() -> bool:
        js.ask(unique, "C", {"batch": 1, "no_wait": True})  # on nats-server nothing is given up before
        return bool(js.consumer_info(unique, "C")["num_ack_pending"] == 0)

    with JetStream.of(server) as js:
        js.create(unique, storage="file")
        js.fill(unique, 5)
        js.consumer(unique, "C", ack_wait=SHORT, max_deliver=often)
        js.ack(take(js, unique, 5)[0])
        for _ in range(often - 1):
            take(js, unique, 4)
        eventually(given_up)
        assert js.consumer_info(unique, "C")["ack_floor"]["stream_seq"] == 1
    server.restart()
    with JetStream.of(server) as js:
        info = js.consumer_info(unique, "C")
        floor, delivered = info["ack_floor"], info["delivered"]
        assert (floor["consumer_seq"], floor["stream_seq"], delivered["stream_seq"]) == (1, 1, 5)
        assert (info["num_ack_pending"], info["num_redelivered"]) == (0, 0 if often == 1 else 4)


def test_nak_and_term_are_reported(js: JetStream, stream: str) -> None:
    js.wire.sub(f"$JS.EVENT.ADVISORY.CONSUMER.*.{stream}.C", "adv")
    js.consumer(stream, "C")
    js.wire.sync()
    one, two = take(js, stream, 2)
    js.wire.pub(one.reply, "-NAK")
    js.wire.pub(two.reply, "+TERM broken")
    nak, term = (m.json() for m in js.wire.msgs(2))
    assert nak["type"] == "io.nats.jetstream.advisory.v1.nak"
    assert (nak["stream"], nak["consumer"], nak["stream_seq"], nak["consumer_seq"], nak["deliveries"]) == (
        stream,
        "C",
        1,
        1,
        1,
    )
    assert term["type"] == "io.nats.jetstream.advisory.v1.terminated"
    assert (term["stream_seq"], term["reason"]) == (2, "broken")


def test_sampled_acks_are_measured(js: JetStream, stream: str) -> None:
    js.wire.sub(f"$JS.EVENT.METRIC.CONSUMER.ACK.{stream}.C", "metric")
    js.consumer(stream, "C", sample_freq="100%")
    (message,) = take(js, stream)
    js.wire.pub(message.reply, "+ACK")
    metric = js.wire.msg().json()
    assert metric["type"] == "io.nats.jetstream.metric.v1.consumer_ack"
    assert (metric["stream"], metric["consumer"]) == (stream, "C")
    assert (metric["stream_seq"], metric["consumer_seq"], metric["deliveries"]) == (1, 1, 1)
    assert metric["ack_time"] > 0
