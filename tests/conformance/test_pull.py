"""Pull consumers: which messages come, in which order, with which reply; statuses that end or refuse."""

from __future__ import annotations

from typing import Any

import pytest
from lib.eventually import eventually
from lib.jetstream import MILLISECOND, SECOND, JetStream
from lib.wire import Msg


@pytest.fixture
def stream(js: JetStream, unique: str) -> str:
    """A stream with subjects <name>.* and five messages on <name>.a, consumer C."""
    js.create(unique, subjects=[f"{unique}.*"])
    js.fill(f"{unique}.a", 5)
    js.consumer(unique, "C")
    return unique


def bodies(messages: list[Msg]) -> list[int]:
    return [int(m.body) for m in messages]


def statuses(js: JetStream, count: int) -> list[str]:
    return [m.status for m in js.wire.msgs(count)]


def test_a_delivered_message_shows_its_subject_and_how_to_acknowledge(js: JetStream, stream: str) -> None:
    (message,), _ = js.pull(stream, "C")
    assert message.subject == f"{stream}.a"
    assert message.body == b"1"
    assert message.header == b""
    ack = message.reply.split(".")
    assert ack[:7] == ["$JS", "ACK", stream, "C", "1", "1", "1"]
    assert ack[8] == "4"
    assert len(ack) == 9
    assert int(ack[7]) > 1_600_000_000 * SECOND


def test_headers_are_delivered_as_they_were_stored(js: JetStream, stream: str) -> None:
    js.publish(f"{stream}.b", "body", {"Nats-Msg-Id": "x", "Mine": "y"})
    messages, _ = js.pull(stream, "C", 6)
    assert messages[-1].headers == {"Nats-Msg-Id": "x", "Mine": "y"}


@pytest.mark.parametrize("request_", [b"", b"1", b'{"batch":1}', b'{"expires":1000000000}'])
def test_forms_of_asking_for_one(js: JetStream, stream: str, request_: bytes) -> None:
    js.ask(stream, "C", request_)
    assert js.wire.msg().body == b"1"
    assert js.wire.sync() == []


def test_a_number_asks_for_that_many(js: JetStream, stream: str) -> None:
    js.ask(stream, "C", b"3")
    assert bodies(js.wire.msgs(3)) == [1, 2, 3]
    assert js.wire.sync() == []


def test_a_batch_comes_in_order(js: JetStream, stream: str) -> None:
    messages, end = js.pull(stream, "C", 5)
    assert bodies(messages) == [1, 2, 3, 4, 5]
    assert end == ""


def test_no_wait_on_nothing(js: JetStream, stream: str) -> None:
    js.pull(stream, "C", 5)
    js.ask(stream, "C", {"batch": 5, "no_wait": True})
    answer = js.wire.msg()
    assert answer.header == b"NATS/1.0 404 No Messages\r\n\r\n"
    assert (answer.body, answer.reply) == (b"", "")


def test_no_wait_gives_what_there_is(js: JetStream, stream: str) -> None:
    messages, end = js.pull(stream, "C", 9, no_wait=True, expires=0)
    assert bodies(messages) == [1, 2, 3, 4, 5]
    assert end == "404 No Messages"


def test_no_wait_with_expires_waits_only_when_there_is_nothing(js: JetStream, stream: str) -> None:
    messages, end = js.pull(stream, "C", 5)
    js.ask(stream, "C", {"batch": 2, "no_wait": True, "expires": 5 * SECOND})
    js.wire.sync()
    js.publish(f"{stream}.a", "6")
    assert js.wire.msg().body == b"6"
    assert end == ""
    assert len(messages) == 5


def test_an_expired_request_shows_what_it_missed(js: JetStream, stream: str) -> None:
    js.ask(stream, "C", {"batch": 7, "expires": 100 * MILLISECOND})
    assert bodies(js.wire.msgs(5)) == [1, 2, 3, 4, 5]
    end = js.wire.msg()
    assert end.status == "408 Request Timeout"
    assert end.headers == {"Nats-Pending-Messages": "2", "Nats-Pending-Bytes": "0"}


def test_a_request_waits_for_what_is_published_later(js: JetStream, stream: str) -> None:
    js.pull(stream, "C", 5)
    js.ask(stream, "C", {"batch": 2, "expires": 5 * SECOND})
    eventually(lambda: js.consumer_info(stream, "C")["num_waiting"] == 1)
    js.publish(f"{stream}.a", "6")
    js.publish(f"{stream}.a", "7")
    assert bodies(js.wire.msgs(2)) == [6, 7]
    eventually(lambda: js.consumer_info(stream, "C")["num_waiting"] == 0)


def test_max_bytes_ends_a_request_at_what_does_not_fit(js: JetStream, unique: str) -> None:
    js.create(unique)
    js.consumer(unique, "C")
    for _ in range(5):
        js.publish(unique, "x" * 100)
    # A message counts with its subject and its reply subject: the stream's name decides between 140 and 170.
    js.ask(unique, "C", {"batch": 5, "max_bytes": 350, "expires": 2 * SECOND})
    got = []
    while not (message := js.wire.msg()).status:
        got.append(message)
    assert len(got) == 2
    assert message.status == "409 Message Size Exceeds MaxBytes"
    assert message.headers["Nats-Pending-Messages"] == str(5 - len(got))
    assert int(message.headers["Nats-Pending-Bytes"]) > 0


def test_one_message_above_max_bytes_is_reported(js: JetStream, unique: str) -> None:
    js.create(unique)
    js.consumer(unique, "C")
    js.publish(unique, "x" * 1000)
    js.ask(unique, "C", {"batch": 1, "max_bytes": 100, "expires": 2 * SECOND})
    assert statuses(js, 1) == ["409 Message Size Exceeds MaxBytes"]


def test_a_whole_batch_with_bytes_left_is_reported(js: JetStream, stream: str) -> None:
    js.ask(stream, "C", {"batch": 2, "max_bytes": 10_000, "expires": 2 * SECOND})
    got = js.wire.msgs(3)
    assert got[2].status == "409 Batch Completed"
    assert got[2].headers["Nats-Pending-Messages"] == "0"


@pytest.mark.parametrize(
    ("config", "request_", "status"),
    [
        ({"max_batch": 3}, {"batch": 4}, "409 Exceeded MaxRequestBatch of 3"),
        (
            {"max_expires": SECOND},
            {"batch": 1, "expires": 2 * SECOND},
            "409 Exceeded MaxRequestExpires of 1s",
        ),
        ({"max_bytes": 99}, {"batch": 1, "max_bytes": 100}, "409 Exceeded MaxRequestMaxBytes of 99"),
        ({}, b"{", "400 Bad Request - *"),
        ({}, b'{"batch":"x"}', "400 Bad Request - *"),
        (
            {},
            {"batch": 1, "expires": SECOND, "idle_heartbeat": 600 * MILLISECOND},
            "400 Bad Request - heartbeat value too large",
        ),
        ({}, {"batch": 1, "idle_heartbeat": SECOND}, "400 Bad Request - heartbeat value too large"),
        ({"deliver_subject": "to.somewhere"}, {"batch": 1}, "409 Consumer is push based"),
    ],
)
def test_a_request_that_is_refused(
    js: JetStream, unique: str, config: dict[str, Any], request_: Any, status: str
) -> None:
    js.create(unique)
    js.consumer(unique, "C", **config)
    js.ask(unique, "C", request_)
    (received,) = statuses(js, 1)
    assert received == status or (status.endswith("*") and received.startswith(status[:-1]))


def test_more_waiting_than_allowed(js: JetStream, unique: str) -> None:
    js.create(unique)
    js.consumer(unique, "C", max_waiting=2)
    for _ in range(3):
        js.ask(unique, "C", {"batch": 1, "expires": 5 * SECOND})
    assert statuses(js, 1) == ["409 Exceeded MaxWaiting"]
    assert js.wire.sync() == []


def test_a_consumer_that_is_deleted_ends_waiting_pulls(js: JetStream, unique: str) -> None:
    js.create(unique)
    js.consumer(unique, "C")
    js.ask(unique, "C", {"batch": 3, "expires": 5 * SECOND})
    eventually(lambda: js.consumer_info(unique, "C")["num_waiting"] == 1)
    js.call(f"CONSUMER.DELETE.{unique}.C")
    received = js.wire.msg()
    assert received.header == b"NATS/1.0 409 Consumer Deleted\r\n\r\n"


def test_a_stream_that_is_deleted_ends_waiting_pulls(js: JetStream, unique: str) -> None:
    js.create(unique)
    js.consumer(unique, "C")
    js.ask(unique, "C", {"batch": 3, "expires": 5 * SECOND})
    eventually(lambda: js.consumer_info(unique, "C")["num_waiting"] == 1)
    js.call(f"STREAM.DELETE.{unique}")
    assert statuses(js, 1) == ["409 Consumer Deleted"]


def test_a_consumer_that_is_not_has_no_responders(js: JetStream, stream: str) -> None:
    js.ask(stream, "NOPE")
    js.ask("NOPE", "C")
    assert statuses(js, 2) == ["503", "503"]


def test_heartbeats_come_while_waiting(js: JetStream, unique: str) -> None:
    js.create(unique)
    js.consumer(unique, "C")
    js.ask(unique, "C", {"batch": 1, "expires": 600 * MILLISECOND, "idle_heartbeat": 100 * MILLISECOND})
    received = [js.wire.msg()]
    while received[-1].status.startswith("100"):
        received.append(js.wire.msg())
    assert received[0].status == "100 Idle Heartbeat"
    assert received[0].headers == {"Nats-Last-Consumer": "0", "Nats-Last-Stream": "0"}
    assert 2 <= len(received) <= 7
    assert received[-1].status == "408 Request Timeout"


def test_two_who_wait_take_turns(js: JetStream, unique: str) -> None:
    js.create(unique)
    js.consumer(unique, "C")
    one, two = (js.ask(unique, "C", {"batch": 2, "expires": 5 * SECOND}) for _ in range(2))
    eventually(lambda: js.consumer_info(unique, "C")["num_waiting"] == 2)
    js.wire.sub(one, "one")
    js.wire.sub(two, "two")
    js.fill(unique, 4)
    took = {m.body: m.sid for m in js.wire.msgs(8) if m.sid in {"one", "two"}}
    assert [took[str(i).encode()] for i in range(1, 5)] == ["one", "two", "one", "two"]


def test_a_reply_that_nobody_hears_gets_nothing(js: JetStream, stream: str) -> None:
    js.wire.pub(f"$JS.API.CONSUMER.MSG.NEXT.{stream}.C", b"5", "nobody.is.here")
    messages, _ = js.pull(stream, "C", 5)
    assert bodies(messages) == [1, 2, 3, 4, 5]


def test_max_ack_pending_stops_delivery(js: JetStream, stream: str) -> None:
    js.consumer(stream, "D", max_ack_pending=2)
    js.ask(stream, "D", {"batch": 5, "expires": 5 * SECOND})
    one, two = js.wire.msgs(2)
    assert js.wire.sync() == []
    assert js.consumer_info(stream, "D")["num_ack_pending"] == 2
    js.ack(one)
    three = js.wire.msg()
    assert bodies([one, two, three]) == [1, 2, 3]


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"deliver_policy": "all"}, [1, 2, 3, 4, 5, 6]),
        ({"deliver_policy": "last"}, [6]),
        ({"deliver_policy": "new"}, []),
        ({"deliver_policy": "by_start_sequence", "opt_start_seq": 4}, [4, 5, 6]),
        ({"deliver_policy": "by_start_sequence", "opt_start_seq": 100}, []),
        ({"deliver_policy": "by_start_time", "opt_start_time": "2020-01-01T00:00:00Z"}, [1, 2, 3, 4, 5, 6]),
        ({"deliver_policy": "by_start_time", "opt_start_time": "2099-01-01T00:00:00Z"}, []),
        ({"deliver_policy": "last_per_subject", "filter_subject": "{s}.>"}, [5, 6]),
        ({"deliver_policy": "last_per_subject", "filter_subject": "{s}.a"}, [5]),
        ({"deliver_policy": "last", "filter_subject": "{s}.a"}, [5]),
        ({"filter_subject": "{s}.b"}, [6]),
        ({"filter_subject": "{s}.*"}, [1, 2, 3, 4, 5, 6]),
        ({"filter_subjects": ["{s}.b", "{s}.c"]}, [6]),
        ({"filter_subjects": ["{s}.a", "{s}.b"]}, [1, 2, 3, 4, 5, 6]),
    ],
)
def test_where_delivery_starts_and_what_it_filters(
    js: JetStream, stream: str, config: dict[str, Any], expected: list[int]
) -> None:
    def named(value: Any) -> Any:
        if isinstance(value, list):
            return [named(v) for v in value]
        return value.replace("{s}", stream) if isinstance(value, str) else value

    js.publish(f"{stream}.b", "6")
    info = js.consumer(stream, "D", **{k: named(v) for k, v in config.items()})
    assert info["num_pending"] == len(expected)
    messages, end = js.pull(stream, "D", 9, no_wait=True, expires=0)
    assert bodies(messages) == expected
    assert end == "404 No Messages"
    js.publish(f"{stream}.b", "7") if "filter_subject" not in config else None
    assert js.consumer_info(stream, "D")["delivered"]["consumer_seq"] == len(expected)


def test_pending_counts_down_in_the_reply(js: JetStream, stream: str) -> None:
    messages, _ = js.pull(stream, "C", 5)
    assert [m.reply.split(".")[8] for m in messages] == ["4", "3", "2", "1", "0"]


def test_consumer_info_follows(js: JetStream, stream: str) -> None:
    messages, _ = js.pull(stream, "C", 3)
    info = js.consumer_info(stream, "C")
    assert info["delivered"]["consumer_seq"] == 3
    assert info["delivered"]["stream_seq"] == 3
    assert "last_active" in info["delivered"]
    assert info["ack_floor"] == {"consumer_seq": 0, "stream_seq": 0}
    assert (info["num_ack_pending"], info["num_pending"], info["num_redelivered"]) == (3, 2, 0)
    js.ack(messages[1])
    info = js.consumer_info(stream, "C")
    assert (info["num_ack_pending"], info["ack_floor"]["stream_seq"]) == (2, 0)
    js.ack(messages[0])
    info = js.consumer_info(stream, "C")
    assert (info["num_ack_pending"], info["ack_floor"]["stream_seq"]) == (1, 2)
    assert info["ack_floor"]["consumer_seq"] == 2


def test_headers_only_shows_the_size(js: JetStream, stream: str) -> None:
    js.publish(f"{stream}.b", "body", {"A": "b"})
    js.consumer(stream, "D", headers_only=True)
    messages, _ = js.pull(stream, "D", 6)
    assert messages[0].headers == {"Nats-Msg-Size": "1"}
    assert messages[5].headers == {"A": "b", "Nats-Msg-Size": "4"}
    assert all(m.body == b"" for m in messages)


def test_deleted_messages_are_skipped(js: JetStream, stream: str) -> None:
    js.call(f"STREAM.MSG.DELETE.{stream}", {"seq": 2})
    js.call(f"STREAM.PURGE.{stream}", {"seq": 2})
    assert js.consumer_info(stream, "C")["num_pending"] == 3
    messages, _ = js.pull(stream, "C", 9, no_wait=True, expires=0)
    assert bodies(messages) == [3, 4, 5]


def test_a_purge_moves_a_consumer_on(js: JetStream, stream: str) -> None:
    js.pull(stream, "C", 2)
    js.call(f"STREAM.PURGE.{stream}")
    info = js.consumer_info(stream, "C")
    assert (info["num_pending"], info["num_ack_pending"]) == (0, 0)
    assert (info["delivered"]["stream_seq"], info["ack_floor"]["stream_seq"]) == (5, 5)
    js.publish(f"{stream}.a", "6")
    messages, _ = js.pull(stream, "C")
    assert bodies(messages) == [6]


def test_a_paused_consumer_waits(js: JetStream, stream: str) -> None:
    paused = js.call(f"CONSUMER.PAUSE.{stream}.C", {"pause_until": "2099-01-01T00:00:00Z"})
    assert paused["paused"] is True
    assert paused["pause_until"] == "2099-01-01T00:00:00Z"
    assert paused["pause_remaining"] > 0
    assert js.consumer_info(stream, "C")["paused"] is True
    assert js.pull(stream, "C", 1, expires=100 * MILLISECOND) == ([], "408 Request Timeout")
    resumed = js.call(f"CONSUMER.PAUSE.{stream}.C", {})
    assert resumed["paused"] is False
    assert bodies(js.pull(stream, "C")[0]) == [1]


def test_an_ephemeral_gets_a_name_and_goes_when_nobody_asks(js: JetStream, stream: str) -> None:
    request = {
        "stream_name": stream,
        "config": {"ack_policy": "explicit", "inactive_threshold": 600 * MILLISECOND},
    }
    name = js.call(f"CONSUMER.CREATE.{stream}", request)["name"]
    assert len(name) == 8
    assert name in js.call(f"CONSUMER.NAMES.{stream}")["consumers"]
    eventually(lambda: name not in js.call(f"CONSUMER.NAMES.{stream}")["consumers"])


def test_overflow_serves_only_when_enough_is_pending(js: JetStream, stream: str) -> None:
    js.consumer(stream, "D", priority_policy="overflow", priority_groups=["g"])
    js.ask(stream, "D", {"batch": 1, "expires": 5 * SECOND, "group": "g", "min_pending": 6})
    assert js.wire.sync() == []
    js.publish(f"{stream}.a", "6")
    assert js.wire.msg().body == b"1"
    js.ask(stream, "D", {"batch": 1})
    (received,) = statuses(js, 1)
    assert received.startswith("400 Bad Request")


def test_a_pinned_client_is_served_alone(js: JetStream, stream: str) -> None:
    js.consumer(
        stream, "D", priority_policy="pinned_client", priority_groups=["g"], priority_timeout=60 * SECOND
    )
    js.ask(stream, "D", {"batch": 1, "expires": 5 * SECOND, "group": "g"})
    pin = js.wire.msg().headers["Nats-Pin-Id"]
    js.ask(stream, "D", {"batch": 1, "expires": 5 * SECOND, "group": "g", "id": "wrong"})
    (received,) = statuses(js, 1)
    assert received.startswith("423 ")
    js.ask(stream, "D", {"batch": 1, "expires": 5 * SECOND, "group": "g", "id": pin})
    assert js.wire.msg().body == b"2"
    groups = js.consumer_info(stream, "D")["priority_groups"]
    assert groups[0]["group"] == "g"
    assert groups[0]["pinned_client_id"] == pin


def test_no_wait_beyond_what_may_be_unacked_ends_at_the_first_heartbeat(js: JetStream, unique: str) -> None:
    js.create(unique)
    js.fill(unique, 10)
    js.consumer(unique, "C", max_ack_pending=5)
    request = {"no_wait": True, "expires": 20 * SECOND, "idle_heartbeat": 100 * MILLISECOND}
    messages, end = js.pull(unique, "C", 20, **request)
    assert bodies(messages) == [1, 2, 3, 4, 5]
    assert end == "404 No Messages"
    assert js.consumer_info(unique, "C")["num_waiting"] == 0


def test_of_two_that_ask_together_the_one_of_higher_priority_is_served_first(
    js: JetStream, unique: str
) -> None:
    js.create(unique)
    js.fill(unique, 2)
    js.consumer(unique, "C", priority_policy="prioritized", priority_groups=["g"])
    data = b""
    for sid, priority in (("low", 1), ("high", 0)):
        js.wire.sub(f"{unique}.{sid}", sid)
        body = f'{{"batch":1,"expires":{5 * SECOND},"group":"g","priority":{priority}}}'
        where = f"$JS.API.CONSUMER.MSG.NEXT.{unique}.C {unique}.{sid}"
        data += f"PUB {where} {len(body)}\r\n{body}\r\n".encode()
    js.wire.send(data)
    assert [(message.sid, message.body) for message in js.wire.msgs(2)] == [("high", b"1"), ("low", b"2")]
