"""Thousands of pulls and acks on one consumer delay nobody; see test_bounded_work."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest
from lib.callbacks import Callbacks
from lib.eventually import eventually
from lib.jetstream import ALONE, SECOND, JetStream
from lib.process import ServerProcess
from lib.wire import Frame

MANY = 15_000
PIECE = 100  # what one read brings is test_bounded_work's concern
NEXT = "$JS.API.CONSUMER.MSG.NEXT.S.C"


@pytest.fixture
def server(callbacks: Callbacks, launch: Callable[[str], ServerProcess]) -> ServerProcess:
    """A measured server of the test's own."""
    return launch(ALONE)


@pytest.fixture
def js(server: ServerProcess) -> Iterator[JetStream]:
    """Its API; stream S with consumer C, for which `MANY` may wait."""
    with JetStream.of(server) as api:
        api.create("S", subjects=["s"])
        api.consumer("S", "C", max_waiting=MANY)
        yield api


def send(js: JetStream, lines: list[bytes]) -> None:
    """Send operations, as many at once as one read may bring; all are handled when it returns.

    What else came meanwhile is kept to be read.
    """
    came: list[Frame] = []
    for first in range(0, len(lines), PIECE):
        js.wire.send(b"".join(lines[first : first + PIECE]))
        came += js.wire.sync()
    js.wire.unread.extend(came)


def pulls(js: JetStream, count: int, **request: object) -> None:
    """Ask for one message, many times."""
    body = json.dumps({"batch": 1, **request}).encode()
    js.wire.sub("pulled.*", "pulled")
    send(js, [b"PUB %b pulled.%d %d\r\n%b\r\n" % (NEXT.encode(), n, len(body), body) for n in range(count)])


def wait_for(js: JetStream, waiting: int) -> None:
    """The reference takes requests in by and by."""
    eventually(lambda: js.consumer_info("S", "C")["num_waiting"] == waiting)


def test_many_that_wait_are_served(server: ServerProcess, js: JetStream, callbacks: Callbacks) -> None:
    with callbacks.bounded(server):
        pulls(js, MANY, expires=60 * SECOND)
        wait_for(js, MANY)
        js.fill("s", 20)
        pulls(js, 20, no_wait=True)
        received = sorted(message.status for message in js.wire.msgs(40))
        assert received[:20] == [""] * 20
        assert {*received[20:]} <= {"404 No Messages", "408 Requests Pending"}
        wait_for(js, MANY - 20)


def test_many_that_expire_together_are_reported(
    server: ServerProcess, js: JetStream, callbacks: Callbacks
) -> None:
    with callbacks.bounded(server):
        pulls(js, MANY, expires=2 * SECOND)
        received = 0
        while received < MANY:
            assert js.wire.msg().status == "408 Request Timeout"
            received += 1
        assert js.consumer_info("S", "C")["num_waiting"] == 0


def test_many_that_beat_are_reported(server: ServerProcess, js: JetStream, callbacks: Callbacks) -> None:
    with callbacks.bounded(server):
        pulls(js, MANY // 2, expires=60 * SECOND, idle_heartbeat=SECOND)
        for _ in range(MANY // 2):
            assert js.wire.msg().status == "100 Idle Heartbeat"


def test_many_that_wait_hear_of_the_end(server: ServerProcess, js: JetStream, callbacks: Callbacks) -> None:
    with callbacks.bounded(server):
        pulls(js, MANY, expires=60 * SECOND)
        wait_for(js, MANY)
        js.call("CONSUMER.DELETE.S.C")
        for _ in range(MANY):
            assert js.wire.msg().status == "409 Consumer Deleted"


def test_errors_come_by_the_thousand(server: ServerProcess, js: JetStream, callbacks: Callbacks) -> None:
    with callbacks.bounded(server):
        js.wire.sub("pulled.*", "pulled")
        for body in (
            b"{",
            b'{"batch":"x"}',
            b'{"batch":1,"idle_heartbeat":5}',
            b'{"group":"g","priority":77}',
        ):
            send(
                js, [b"PUB %b pulled.1 %d\r\n%b\r\n" % (NEXT.encode(), len(body), body) for _ in range(2000)]
            )
        for suffix in (
            b"STREAM.INFO.NOPE",
            b"CONSUMER.INFO.S.NOPE",
            b"STREAM.CREATE.S",
            b"CONSUMER.CREATE.S.C",
        ):
            send(js, [b"PUB $JS.API.%b pulled.1 1\r\n{\r\n" % suffix for _ in range(2000)])


def test_acks_of_what_was_never_delivered(server: ServerProcess, js: JetStream, callbacks: Callbacks) -> None:
    js.fill("s", 5)
    with callbacks.bounded(server):
        replies = [b"$JS.ACK.S.C.1.%d.%d.1.0" % (n, n) for n in range(1, MANY)]
        for body in (b"", b"+NXT", b"-NAK", b"+WPI", b"+TERM"):
            send(js, [b"PUB %b %d\r\n%b\r\n" % (reply, len(body), body) for reply in replies])
        assert js.consumer_info("S", "C")["ack_floor"]["stream_seq"] == 0
