"""A push consumer that delivers many messages at once sends what it would send one by one."""

from __future__ import annotations

import re
from random import Random
from typing import Any

import pytest
from lib.consumer_fixture import SECOND, ConsumerFixture
from pyjs.server.accounts import ConnectionKind, Subscription
from pyjs.server.accounts.flusher import Flusher, OutboundQueue
from pyjs.server.accounts.subscription import DeliveredRun, Message, MessageEndpoint, RoutedMessage
from pyjs.server.jetstream.consumers.push_runs import PushRuns
from pyjs.server.leaf.frames import leaf_frame

FLOW = re.compile(rb"\$JS\.FC\.S\.C\.\w+")


class Client(OutboundQueue, MessageEndpoint):
    """A connection that keeps what it is sent."""

    kind = ConnectionKind.CLIENT
    fast = True

    def __init__(self, flusher: Flusher, *, headers: bool) -> None:
        super().__init__(flusher)
        self.headers = headers
        self.outbound = self
        self.heard = b""

    def flush(self) -> None:
        """Hear what is in `out`."""
        self.heard += b"".join(self.out)
        self.out.clear()
        self.flush_pending = False


class Leaf(Client):
    """A leaf connection that keeps what it is sent."""

    kind = ConnectionKind.LEAF

    def may_send(self, subject: str) -> bool:
        """Let all out."""
        return True

    def prefixes(self, subject: bytes) -> tuple[bytes, bytes]:
        """See MessageEndpoint."""
        return b"LMSG %b " % subject, b"HMSG %b " % subject

    def deliver_to_server(self, msg: RoutedMessage, queues: tuple[bytes, ...]) -> bool:
        """See MessageEndpoint."""
        self.send_message(*leaf_frame(msg, queues, self.headers, {}))
        return True


def filled(seed: int, **stream: Any) -> ConsumerFixture:
    fixture, rng = ConsumerFixture(**stream), Random(seed)
    for number in range(rng.choice([3, 40, 1200])):
        header = rng.choice([b"", b"", b"NATS/1.0\r\nA: b\r\n\r\n"]) if seed % 2 else b""
        body = bytes(rng.choice([0, 10, 1000, 9000]))
        fixture.account.publish(f"s.{number % 7}", body, header=header, own=True)
        if number % 50 == 0:
            fixture.clock.advance(1)
    for _ in range(rng.choice([0, 10])):
        fixture.stream.store.remove(rng.randrange(1, 1200))
    return fixture


def heard(
    seed: int, stream: dict[str, Any], *, headers: bool, listener: type[Client] = Client, **config: Any
) -> tuple[bytes, dict[str, Any]]:
    """What a client or leaf hears that answers flow control, and what the consumer then says of itself."""
    fixture = filled(seed, **stream)
    client = listener(fixture.account.flusher, headers=headers)
    fixture.account.add_subscription(Subscription("d", client, sid=b"7"))
    consumer = fixture.consumer(durable_name="C", deliver_subject="d", **config)
    answered = 0
    for _ in range(40):
        fixture.clock.advance(0)
        asked = FLOW.findall(client.heard)
        for reply in asked[answered:]:
            fixture.account.publish(reply.decode(), own=True)
        answered = len(asked)
    fixture.clock.advance(2 * SECOND)
    state = consumer.delivery_state
    said = {
        "left": fixture.stream.store.messages,
        "delivered": (state.consumer_seq, state.stream_seq, state.outstanding),
    }
    return FLOW.sub(b"$JS.FC", client.heard), said


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("headers", [True, False])
@pytest.mark.parametrize("listener", [Client, Leaf])
@pytest.mark.parametrize(
    ("stream", "config"),
    [
        ({}, {"ack_policy": "none"}),
        ({}, {"ack_policy": "none", "flow_control": True, "idle_heartbeat": SECOND}),
        ({}, {"ack_policy": "explicit", "max_ack_pending": 70}),
        ({}, {"ack_policy": "flow_control", "flow_control": True, "idle_heartbeat": SECOND}),
        ({}, {"ack_policy": "none", "filter_subject": "s.1", "headers_only": True}),
        ({}, {"ack_policy": "none", "filter_subject": "s.2"}),
        ({"retention": "workqueue"}, {"ack_policy": "explicit"}),
        ({"retention": "interest"}, {"ack_policy": "none"}),
    ],
)
def test_a_client_or_leaf_hears_the_same(
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
    headers: bool,
    listener: type[Client],
    stream: dict[str, Any],
    config: dict[str, Any],
) -> None:
    together = heard(seed, stream, headers=headers, listener=listener, **config)
    monkeypatch.setattr(PushRuns, "serve", lambda *_: 0)
    assert together == heard(seed, stream, headers=headers, listener=listener, **config)


def listened(seed: int, **config: Any) -> list[tuple[str, str, bytes, bytes]]:
    """What a subscription of the server itself gets, without answers to flow control."""
    fixture = filled(seed)
    got: list[tuple[str, str, bytes, bytes]] = []

    def one(message: Message) -> None:
        reply = FLOW.sub(b"$JS.FC", message.reply.encode()).decode()
        got.append((message.subject, reply, message.header, message.body))

    def run(deliveries: DeliveredRun) -> None:
        ack_prefix, number, messages, pending = deliveries
        for place, (seq, subject, header, body, time) in enumerate(messages):
            left = pending + len(messages) - 1 - place
            got.append((subject, f"{ack_prefix}{seq}.{number + place}.{time}.{left}", header, body))

    fixture.account.subscribe_to_deliveries("d", one, run)
    fixture.consumer(durable_name="C", deliver_subject="d", ack_policy="none", **config)
    for _ in range(5):
        fixture.clock.advance(0)
    return got


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("config", [{}, {"flow_control": True, "idle_heartbeat": SECOND}])
def test_the_server_itself_gets_the_same(
    monkeypatch: pytest.MonkeyPatch, seed: int, config: dict[str, Any]
) -> None:
    together = listened(seed, **config)
    monkeypatch.setattr(PushRuns, "serve", lambda *_: 0)
    assert together == listened(seed, **config)


def test_runs_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    served: list[int] = []
    serve = PushRuns.serve

    def noted(*arguments: Any) -> int:
        served.append(serve(*arguments))
        return served[-1]

    monkeypatch.setattr(PushRuns, "serve", noted)
    fixture = ConsumerFixture()
    fixture.publish(*["x"] * 600)
    runs: list[DeliveredRun] = []
    fixture.account.subscribe_to_deliveries("d", lambda _: None, runs.append)
    fixture.consumer(durable_name="C", deliver_subject="d", ack_policy="none")
    fixture.clock.advance(0)
    assert [len(run.messages) for run in runs] == [512, 88]
    assert any(served)


def test_a_run_goes_only_to_who_listens_alone() -> None:
    fixture = ConsumerFixture()
    fixture.publish(*["x"] * 20)
    runs: list[DeliveredRun] = []
    messages: list[Message] = []
    fixture.account.subscribe_to_deliveries("d", messages.append, runs.append)
    other = fixture.subscribe("d")
    fixture.consumer(durable_name="C", deliver_subject="d", ack_policy="none")
    fixture.clock.advance(0)
    assert (len(runs), len(messages), len(other.messages)) == (0, 20, 20)


class LostLeaf(Leaf):
    """A leaf connection that is closed, and whose interest is about to end."""

    is_open = False


@pytest.mark.parametrize(("listener", "together"), [(Leaf, 20), (LostLeaf, 0)])
def test_a_leaf_gets_runs_as_long_as_it_is_open(listener: type[Leaf], together: int) -> None:
    fixture = ConsumerFixture()
    fixture.publish(*["x"] * 20)
    leaf = listener(fixture.account.flusher, headers=True)
    fixture.account.add_subscription(Subscription("d", leaf))
    fixture.consumer(durable_name="C", deliver_subject="d", ack_policy="none")
    fixture.clock.advance(0)
    assert leaf.heard.count(b"LMSG d $JS.ACK.S.C.1.") == 20
    assert leaf.out_msgs == together
