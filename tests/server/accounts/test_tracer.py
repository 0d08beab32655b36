"""Traces: who is told, how much is told, and where a trace ends."""

from __future__ import annotations

import json
from typing import Any

import pytest
from lib.fake_clock import FakeClock
from pyjs.protocol.wire.encode import tail
from pyjs.server.accounts import Account, AccountRegistry, ConnectionKind, MessageEndpoint, RoutedMessage
from pyjs.server.accounts.routing import route
from pyjs.server.accounts.server_trace import MOST_DELIVERIES, MOST_HEADERS, TracePoint
from pyjs.server.accounts.subscription import Subscription
from pyjs.server.accounts.traced_message import TracedMessage
from pyjs.server.accounts.tracer import TracedIngress, Tracer
from pyjs.server.config.options import AccountOptions, ExportOptions, ImportOptions, Options
from pyjs.server.config.options.accounts import TraceDestination
from pyjs.server.logging import NullLogger

SAMPLED = b"traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


class Client(MessageEndpoint):
    """A client that takes everything."""

    kind = ConnectionKind.CLIENT

    def __init__(self, name: str = "") -> None:
        self.name = name
        self.heard: list[RoutedMessage] = []

    def trace_point(self) -> TracePoint:
        return TracePoint(0, 1, self.name)

    def deliver(self, subscription: Subscription, msg: RoutedMessage) -> bool:
        self.heard.append(msg)
        return True


class Traced:
    """Accounts where `B` imports the services `open` and `closed` of `A`, and a tracer."""

    def __init__(self, sampling: int = 100, draws: tuple[float, ...] = ()) -> None:
        allowed, closed = (
            ExportOptions("service", "open", allow_trace=True),
            ExportOptions("service", "closed"),
        )
        imports = [ImportOptions("service", "A", name) for name in ("open", "closed")]
        self.clock = FakeClock()
        self.registry = AccountRegistry(
            Options(
                accounts={
                    "A": AccountOptions(name="A", exports=[allowed, closed]),
                    "B": AccountOptions(
                        name="B", imports=imports, msg_trace=TraceDestination("account.traces", sampling)
                    ),
                }
            ),
            self.clock,
        )
        chances = iter(draws)
        self.tracer = Tracer(self.clock, NullLogger(), lambda: next(chances))
        self.tracer.server = lambda: {"name": "S"}
        self.events: list[dict[str, Any]] = []
        for account in ("A", "B"):
            for subject in ("traces", "account.traces"):
                self.account(account).subscribe(subject, lambda m: self.events.append(json.loads(m.body)))

    def account(self, name: str) -> Account:
        return self.registry.accounts[name]

    def begin(self, *lines: bytes, source: MessageEndpoint | None = None) -> TracedIngress:
        header = b"\r\n".join((b"NATS/1.0", *lines, b"", b""))
        sender, account = source or Client(), self.account("B")
        return self.tracer.begin(
            sender, account, b"x", header, len(header), lambda subject: subject != "denied"
        )

    def publish(self, subject: bytes, *lines: bytes, reply: bytes = b"") -> int:
        taken, header, trace, _ = self.begin(*lines)
        assert taken
        assert trace is not None
        body = tail(reply, header, b"")
        msg = TracedMessage(RoutedMessage(Client(), subject, reply, len(header), len(header), body), trace)
        delivered = route(self.account("B").plan(subject), msg)
        self.tracer.send(self.account("B"), trace)
        return delivered


def test_without_anybody_to_tell_nothing_is_traced() -> None:
    traced = Traced()
    traced.tracer.server = None
    assert traced.begin(b"Nats-Trace-Dest: traces")[::2] == (True, None)
    assert not traced.begin(b"Nats-Trace-Dest: traces", b"Nats-Trace-Only: true").taken


def test_a_destination_must_be_permitted_and_reasonable() -> None:
    traced = Traced()
    assert traced.begin(b"Nats-Trace-Dest: denied")[::3] == (False, "denied")
    assert traced.begin(b"Nats-Trace-Dest: " + b"x" * 5000).trace is None
    assert traced.begin(b"Nats-Trace-Dest: traces", b"Nats-Trace-Hop: " + b"1." * 5000 + b"1").trace is None


def test_so_many_percent_of_the_clients_messages_are_traced() -> None:
    traced = Traced(30, (0.0, 0.29, 0.3, 0.99))
    found = [traced.begin(SAMPLED) for _ in range(4)]
    assert [each.trace is not None for each in found] == [True, True, False, False]
    assert b"trace disabled" in found[2].header  # so that the next server does not draw again


def test_another_servers_messages_are_not_drawn_again() -> None:
    traced, leaf = Traced(1), Client("other")
    leaf.trace_point = lambda: TracePoint(4, 1, "other")  # type: ignore[method-assign]
    assert traced.begin(SAMPLED, source=leaf).trace is not None


def test_an_event_is_bounded() -> None:
    traced = Traced()
    account = traced.account("B")
    long = "n" * 1000
    clients = [Client(long) for _ in range(2 * MOST_DELIVERIES // len(long))]
    for client in clients:
        account.add_subscription(Subscription("wide", client, sid=b"1"))
    large = [b"H%d: %b" % (number, b"x" * 1000) for number in range(2 * MOST_HEADERS // 1000)]
    assert traced.publish(b"wide", b"Nats-Trace-Dest: traces", *large) == len(clients)
    (event,) = traced.events
    told = len(event["events"]) - 1
    assert 0 < told < len(clients)
    assert event["omitted"] == len(clients) - told
    assert event["request"]["header"] == {"Nats-Trace-Dest": ["traces"]}
    assert len(json.dumps(event)) < 2 * (MOST_DELIVERIES + MOST_HEADERS)


@pytest.mark.parametrize("service", ["open", "closed"])
def test_nothing_is_awaited_after_a_trace_on_one_server(service: str) -> None:
    traced = Traced()
    responder = Client("responder")
    traced.account("A").add_subscription(Subscription(service, responder, sid=b"1"))
    only = b"Nats-Trace-Only: true"
    traced.publish(service.encode(), b"Nats-Trace-Dest: traces", only, reply=b"inbox")
    assert responder.heard == []
    traced.publish(service.encode(), b"Nats-Trace-Dest: traces")
    assert len(responder.heard) == 1
    assert len(traced.account("A").responses) == 0
    names = [[entry["type"] for entry in event["events"]] for event in traced.events]
    assert names == [["in", "si", "eg"] if service == "open" else ["in", "si"]] * 2


def test_a_trace_is_never_a_request() -> None:
    traced = Traced()
    asked: list[Any] = []
    traced.account("B").subscribe("$JS.API.STREAM.DELETE.S", asked.append)
    traced.publish(b"nobody", b"Nats-Trace-Dest: $JS.API.STREAM.DELETE.S")
    assert asked == []
