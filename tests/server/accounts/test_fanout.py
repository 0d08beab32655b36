"""The fan-out queues what `route` queues: for any interest, any kind of source, any operations."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lib.fake_clock import FakeClock
from pyjs.protocol.gateway_reply import split_way
from pyjs.protocol.tracing import MARK
from pyjs.protocol.wire import encode
from pyjs.protocol.wire.ops import HPUB, PUB, SUB, Op
from pyjs.server.accounts import (
    INTERNAL,
    Account,
    ConnectionKind,
    Message,
    RoutedMessage,
    Subscription,
    space,
)
from pyjs.server.accounts.ack_routes import ACKS
from pyjs.server.accounts.fanout import fan_out
from pyjs.server.accounts.flusher import Flusher, OutboundQueue
from pyjs.server.accounts.plan import Plan
from pyjs.server.accounts.routing import route
from pyjs.server.accounts.subscription import MessageEndpoint, Publish, message_of
from pyjs.server.leaf.frames import leaf_frame, split_delivery
from pyjs.server.route.frames import route_frame

CLIENT, LEAF, ROUTER, GATEWAY = (
    ConnectionKind.CLIENT,
    ConnectionKind.LEAF,
    ConnectionKind.ROUTER,
    ConnectionKind.GATEWAY,
)
SERVERS = (LEAF, ROUTER, GATEWAY)
WAY = b"_GR_.aaaaaa.bbbbbb."
SUBJECTS = ("a", "a", "b", "_I.1", "_I.2", "$JS.API.INFO", "$JS.ACK.S.C.1.1.1.1.0", "$NRG.x")
PATTERNS = ("a", "a", "*", ">", "_I.*", "$JS.API.>", "$JS.ACK.S.C.>")
REPLIES = (
    b"",
    b"",
    b"r",
    b"_INBOX.1",
    b"_R_.x",
    WAY + b"r",
    b"$JS.ACK.S.C.1.1.1.1.0",
    b"$JS.ACK.S.C.1.1.1.1.0@shown",
    b"$x",
)
HEADERS = (b"", b"NATS/1.0\r\nA: 1\r\n\r\n", b"NATS/1.0\r\n%b: x\r\n\r\n" % MARK.strip())


class Box(OutboundQueue, MessageEndpoint):
    """A connection that keeps what it is sent, and looks at each message that does not go the quick way."""

    def __init__(self, flusher: Flusher, kind: ConnectionKind, fast: bool, headers: bool, more: bool) -> None:
        super().__init__(flusher)
        self.kind = kind
        self.fast = fast
        self.headers = headers
        self.echo = more or fast
        self.is_spoke = kind is LEAF and more
        self.outbound = self if fast or more else None
        self.denied = "" if more else "b"

    def deliver(self, subscription: Subscription, msg: RoutedMessage) -> bool:
        subscription.delivered += 1
        size, tail = msg.size, msg.tail
        if msg.header_size and not self.headers:
            tail = encode.without_header(msg.reply, msg.header_size, size, tail)
            size -= msg.header_size
        verb = b"HMSG" if msg.header_size and self.headers else b"MSG"
        self.send_message(b"%b %b %b " % (verb, msg.shown or msg.subject, subscription.sid), tail, size)
        return True

    def may_send(self, subject: str) -> bool:
        return subject != self.denied

    def prefixes(self, subject: bytes) -> tuple[bytes, bytes]:
        if self.kind is LEAF:
            return b"LMSG %b " % subject, b"HMSG %b " % subject
        return b"RMSG A %b " % subject, b"HMSG A %b " % subject

    def deliver_to_server(self, msg: RoutedMessage, queues: tuple[bytes, ...]) -> bool:
        if self.kind is LEAF:
            self.send_message(*leaf_frame(msg, queues, self.headers, {}))
        else:
            if self.kind is GATEWAY and msg.reply and not msg.way:
                msg = msg.coming_back(WAY)
            self.send_message(*route_frame(b"A", msg, queues, b"", self.headers))
        return True

    def frames(self) -> list[bytes]:
        """What is queued, one by one."""
        return [prefix + tail for prefix, tail in zip(self.out[::2], self.out[1::2], strict=True)]


class FanOutFixture:
    """An account, those who subscribe in it, and a producer of one kind with turns of some lengths."""

    def __init__(self, boxes: list[Any], source: int | None, turns: list[bool], draw: float = 0.4) -> None:
        self.clock = FakeClock()
        self.flusher = Flusher(self.clock)
        self.account = Account("A", self.flusher, draw=lambda: draw)
        self.boxes = [Box(self.flusher, *fields) for fields in boxes]
        self.source: MessageEndpoint = INTERNAL if source is None else self.boxes[source % len(boxes)]
        self.kind = self.source.kind
        self.headers = True
        self.until = self.clock.now()
        self.heard: list[tuple[str, str, bytes, bytes]] = []
        self.subscriptions: list[Subscription] = []
        self.messages = self.size = 0
        self._turns = cycle(turns)
        self._kept: list[Op] = []

    # interest

    def subscribe(self, place: int, subject: str, queue: str, most: int, runs: bool) -> None:
        if place < 0:
            made = self.account.subscribe(
                subject, self._hear, queue=queue, batch_callback=self._receive_batch if runs else None
            )
        else:
            sid = b"%d" % len(self.subscriptions)
            made = Subscription(subject, self.boxes[place % len(self.boxes)], queue=queue, sid=sid)
            made.max = most
            made.weight = 1 + len(self.subscriptions) % 3
            self.account.add_subscription(made)
        self.subscriptions.append(made)

    def _hear(self, message: Message) -> None:
        self.heard.append((message.subject, message.reply, message.header, message.body))

    def _receive_batch(self, run: list[Publish]) -> None:
        for publish in run:
            self._hear(message_of(publish))

    # the producer's side of the fan-out

    def must_pause(self, operations: Iterator[Op]) -> bool:
        if next(self._turns):
            self._kept.extend(operations)
            return True
        return False

    def serve_special(self, plan: Plan, operation: Op, operations: Iterator[Op]) -> bool:
        for subscription in plan.callbacks:
            subscription.delivered += 1
            if subscription.callback is not None:
                subscription.callback(message_of(operation[1:]))
        return self.must_pause(operations)

    # both ways

    def quickly(self, operations: list[Op]) -> None:
        """Let the fan-out serve what it does."""
        self._kept = operations
        while self._kept:
            rest, self._kept = iter(self._kept), []
            while True:
                self.until = self.clock.now() + next(self._turns)
                producer = None if self.source is INTERNAL else self
                operation, _, messages, size = fan_out(rest, self.account, self.kind, producer)
                self.messages += messages
                self.size += size
                if operation is None:
                    break
                self.carefully(operation)

    def carefully(self, operation: Op) -> None:
        """Serve one as a connection does that must look at it."""
        if operation[0] == SUB:
            self.subscribe(*operation[1:])
            return
        _, subject, reply, header_size, size, tail = operation
        self.messages += 1
        self.size += size
        payload, shown = tail[len(tail) - 2 - size : -2], b""
        way = b""
        if self.kind in SERVERS:
            way, reply = split_way(reply)
            if reply.startswith(ACKS):
                reply, shown = split_delivery(reply)
        tail = encode.tail(reply, payload[:header_size], payload[header_size:])
        answer = self.source is INTERNAL
        msg = RoutedMessage(
            self.source, subject, reply, header_size, size, tail, shown, answer=answer, way=way
        )
        queues = () if self.kind in SERVERS else None
        route(self.account.plan(subject), msg, queues)


mostly = st.sampled_from([True, True, True, True, False])
boxes = st.tuples(st.sampled_from([CLIENT, LEAF, ROUTER, GATEWAY]), mostly, mostly, mostly)
interests = st.tuples(
    st.just(SUB),
    st.integers(-1, 5),
    st.sampled_from(PATTERNS),
    st.sampled_from(["", "", "", "q", "p"]),
    st.sampled_from([0] * 9 + [2]),
    st.booleans(),
)
publishes = st.tuples(
    st.booleans(), st.sampled_from(SUBJECTS), st.sampled_from(REPLIES), st.sampled_from(HEADERS)
)


def operation(number: int, given_one: Any, plain: bool) -> Op:
    """A SUB as it is; a publish whose body is its number. plain: neither reply nor header."""
    if given_one[0] is SUB:
        return tuple(given_one)
    headed, subject, reply, header = given_one
    if plain:
        headed, reply, header = False, b"", b""
    body = b"%d" % number
    header = header if headed else b""
    tail = encode.tail(reply, header, body)
    if headed and not header:
        tail = tail.replace(b"%d\r\n" % len(body), b"0 %d\r\n" % len(body), 1)
    size = len(header) + len(body)
    return (HPUB if headed else PUB, subject.encode(), reply, len(header), size, tail)


def of_one_group(given_one: Any) -> Any:
    if given_one[0] is not SUB:
        return given_one
    return (*given_one[:3], given_one[3] and "q", *given_one[4:])


def numbers(frames: list[bytes]) -> list[int]:
    return [int(frame[:-2].rpartition(b"\n")[2]) for frame in frames]


@given(
    st.lists(boxes, min_size=3, max_size=4),
    st.sampled_from([None, 0, 0, 1, 2]),
    st.lists(interests, min_size=1, max_size=6),
    st.lists(publishes | publishes | publishes | interests, min_size=10, max_size=20),
    st.lists(st.booleans(), min_size=1, max_size=5),
    st.sampled_from([0.0, 0.4, 0.99999]),
)
def test_it_queues_what_the_router_queues(
    boxes: list[Any],
    source: int | None,
    interest: list[Any],
    given_ones: list[Any],
    turns: list[bool],
    draw: float,
) -> None:
    if draw == 0.4:  # of two groups with members on several servers, a plan draws both at once
        interest, given_ones = ([of_one_group(each) for each in some] for some in (interest, given_ones))
    operations = [operation(n, each, source is None) for n, each in enumerate(given_ones)]
    quick, careful = (FanOutFixture(boxes, source, turns, draw) for _ in range(2))
    quick.quickly([*interest, *operations])
    for each in (*interest, *operations):
        careful.carefully(each)
    for one, other in zip(quick.boxes, careful.boxes, strict=True):
        frames = one.frames()
        assert numbers(frames) == sorted(numbers(frames))
        assert sorted(frames) == sorted(other.frames())
        assert one.out_bytes == other.out_bytes
        assert one.flush_pending == bool(frames)
        assert quick.flusher.pending_flush.count(one) == one.flush_pending
    assert quick.heard == careful.heard
    assert (quick.messages, quick.size) == (careful.messages, careful.size)
    for mine, theirs in zip(quick.subscriptions, careful.subscriptions, strict=True):
        if mine.kind not in SERVERS:  # of servers the router counts none
            assert mine.delivered == theirs.delivered


@pytest.mark.parametrize("length", [31, 32, 33, 100])
def test_a_batch_callback_gets_runs_and_the_turn_may_end_between_them(length: int) -> None:
    fixture = FanOutFixture([(CLIENT, True, True, True)], 0, [True, False])
    fixture.subscribe(-1, "a", "", 0, True)
    fixture.quickly([operation(n, (False, "a", b"", b""), True) for n in range(length)])
    assert [int(body) for _, _, _, body in fixture.heard] == list(range(length))
    assert fixture.messages == length


def test_the_oldest_plans_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(space, "_MOST_PLANS", 64)
    account = Account("A", Flusher(FakeClock()))
    for number in range(65):
        account.plan(b"a.%d" % number)
    assert [*account.plans] == [b"a.%d" % number for number in range(2, 65)]
