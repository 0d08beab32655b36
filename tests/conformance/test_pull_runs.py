"""Long runs of messages for pull requests of a consumer without acks: order, figures, turns, limits."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from lib.jetstream import ALONE, SECOND, JetStream
from lib.process import ServerProcess
from lib.wire import Msg

COUNT = 700  # more than one round of deliveries


@pytest.fixture(params=["memory", "file"])
def stream(js: JetStream, unique: str, request: pytest.FixtureRequest) -> str:
    """Messages of differing size on several subjects, every ninth with headers, some empty; consumer C."""
    js.create(unique, subjects=[f"{unique}.>"], storage=request.param)
    for number in range(COUNT):
        subject = f"{unique}.{'xyz'[number % 3]}{'é' * (number % 2)}"
        headers = {"N": str(number)} if number % 9 == 0 else None
        js.wire.pub(subject, body(number), js.wire.inbox(), headers)
    js.wire.msgs(COUNT)
    js.consumer(unique, "C", ack_policy="none")
    return unique


def body(number: int) -> bytes:
    return b"%d" % number * (number % 40)


def check(stream: str, messages: list[Msg], first: int = 1) -> None:
    """These are the messages from `first` on, as they were stored, with their figures."""
    for number, message in enumerate(messages, first - 1):
        assert message.subject == f"{stream}.{'xyz'[number % 3]}{'é' * (number % 2)}"
        assert message.body == body(number)
        assert message.headers == ({"N": str(number)} if number % 9 == 0 else {})
        tokens = message.reply.split(".")
        assert tokens[:5] == ["$JS", "ACK", stream, "C", "1"]
        assert tokens[5:7] == [str(number + 1)] * 2
        assert tokens[8] == str(COUNT - number - 1)


def test_a_large_request_gets_all_in_order(js: JetStream, stream: str) -> None:
    messages, status = js.pull(stream, "C", COUNT)
    assert status == ""
    check(stream, messages)
    info = js.consumer_info(stream, "C")
    assert info["delivered"]["stream_seq"] == info["delivered"]["consumer_seq"] == COUNT
    assert info["ack_floor"]["stream_seq"] == COUNT
    assert (info["num_pending"], info["num_ack_pending"]) == (0, 0)


def test_a_request_for_more_waits_at_the_end(js: JetStream, stream: str) -> None:
    js.ask(stream, "C", {"batch": COUNT + 2, "expires": 20 * SECOND})
    check(stream, js.wire.msgs(COUNT))
    js.wire.pub(f"{stream}.late", b"late")
    message = js.wire.msg()
    assert (message.body, message.reply.split(".")[5:7]) == (b"late", [str(COUNT + 1)] * 2)
    assert js.wire.sync() == []


def test_several_requests_are_filled_in_turn(js: JetStream, stream: str) -> None:
    for batch in (100, 250, 50):
        js.ask(stream, "C", {"batch": batch, "expires": 20 * SECOND})
    check(stream, js.wire.msgs(400))
    assert js.wire.sync() == []
    messages, _ = js.pull(stream, "C", 10)
    check(stream, messages, 401)


def test_two_clients_share_turn_by_turn(
    js: JetStream, stream: str, serve: Callable[[str], ServerProcess]
) -> None:
    with JetStream.of(serve(ALONE)) as other:
        js.consumer(stream, "D", ack_policy="none", deliver_policy="new")
        for client in (js, other):
            client.ask(stream, "D", {"batch": 200, "expires": 20 * SECOND})
            client.wire.sync()
        js.wire.send(b"".join(b"PUB %b.new 1\r\nx\r\n" % stream.encode() for _ in range(400)))
        numbers = [[int(m.reply.split(".")[6]) for m in client.wire.msgs(200)] for client in (js, other)]
        assert sorted(map(tuple, numbers)) == [tuple(range(1, 401, 2)), tuple(range(2, 401, 2))]


@pytest.mark.parametrize("room", [3000, 20_000])
def test_bytes_end_a_request(js: JetStream, stream: str, room: int) -> None:
    js.ask(stream, "C", {"batch": COUNT, "max_bytes": room, "expires": 20 * SECOND})
    spent, messages = 0, []
    while not (message := js.wire.msg()).status:
        messages.append(message)
        spent += len(message.subject.encode()) + len(message.reply) + len(message.header) + len(message.body)
    check(stream, messages)
    assert message.status == "409 Message Size Exceeds MaxBytes"
    assert message.headers == {
        "Nats-Pending-Messages": str(COUNT - len(messages)),
        "Nats-Pending-Bytes": str(room - spent),
    }


def test_a_batch_that_ends_before_its_bytes_says_so(js: JetStream, stream: str) -> None:
    js.ask(stream, "C", {"batch": 100, "max_bytes": 1_000_000, "expires": 20 * SECOND})
    check(stream, js.wire.msgs(100))
    ended = js.wire.msg()
    assert ended.status == "409 Batch Completed"
    assert ended.headers["Nats-Pending-Messages"] == "0"


def test_no_wait_ends_with_what_is_there(js: JetStream, stream: str) -> None:
    js.ask(stream, "C", {"batch": COUNT + 1, "no_wait": True})
    check(stream, js.wire.msgs(COUNT))
    assert js.wire.msg().status == "404 No Messages"


def test_filters_and_removed_messages_leave_their_gaps(js: JetStream, stream: str) -> None:
    js.call(f"STREAM.MSG.DELETE.{stream}", {"seq": 7})
    js.call(f"STREAM.PURGE.{stream}", {"filter": f"{stream}.y"})
    js.consumer(stream, "F", ack_policy="none", filter_subjects=[f"{stream}.x", f"{stream}.z"])
    wanted = [n + 1 for n in range(COUNT) if n % 6 in {0, 2} and n != 6]
    messages, _ = js.pull(stream, "F", len(wanted))
    assert [int(message.reply.split(".")[5]) for message in messages] == wanted
    assert [int(message.reply.split(".")[6]) for message in messages] == list(range(1, len(wanted) + 1))
    assert messages[-1].reply.split(".")[8] == "0"
