"""What is sampled of a service's requests, and when nothing is published."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from lib.fake_clock import FakeClock
from pyjs.server.accounts import AccountRegistry, ConnectionKind, MessageEndpoint
from pyjs.server.accounts.latency import LatencyMeter, trace_headers
from pyjs.server.config.options import (
    AccountOptions,
    ExportOptions,
    ImportOptions,
    LatencyOptions,
    Options,
)

SECOND = 1_000_000_000
MILLISECOND = 1_000_000


class Asker(MessageEndpoint):
    """A client that is 3 ms away."""

    kind = ConnectionKind.CLIENT

    def client_info(self, *, share: bool = True) -> dict[str, Any]:
        return {"acc": "B", "rtt": 3 * MILLISECOND}


def accounts_with_latency(sampling: int = 100) -> tuple[AccountRegistry, FakeClock]:
    """Return accounts where `B` imports the service `q` of `A`; its threshold is a minute."""
    export = ExportOptions("service", "q", response_threshold=60 * SECOND)
    export.latency = LatencyOptions("results", sampling)
    short = ExportOptions("service", "soon", response_threshold=SECOND)
    accounts = {
        "A": AccountOptions(name="A", exports=[export, short]),
        "B": AccountOptions(
            name="B", imports=[ImportOptions("service", "A", "q"), ImportOptions("service", "A", "soon")]
        ),
    }
    clock = FakeClock()
    return AccountRegistry(Options(accounts=accounts), clock), clock


def results(registry: AccountRegistry) -> list[dict[str, Any]]:
    """Return the list that is filled with what is published."""
    found: list[dict[str, Any]] = []
    registry.accounts["A"].subscribe("results", lambda message: found.append(json.loads(message.body)))
    return found


def test_times_are_those_of_the_clock_less_the_round_trip() -> None:
    registry, clock = accounts_with_latency()
    found = results(registry)
    asked: list[str] = []
    registry.accounts["A"].subscribe("q", lambda message: asked.append(message.reply))
    registry.accounts["B"].subscribe("inbox", lambda message: None)
    registry.accounts["B"].publish("q", reply="inbox", source=Asker())
    clock.advance(20 * MILLISECOND)
    registry.accounts["A"].publish(asked[0], b"answer")
    (only,) = found
    assert (only["service"], only["system"], only["total"]) == (20 * MILLISECOND, 0, 23 * MILLISECOND)
    assert "responder" not in only  # the server itself


def test_so_many_percent_are_sampled() -> None:
    registry, clock = accounts_with_latency(30)
    found = results(registry)
    account, chances = registry.accounts["A"], iter([0.0, 0.29, 0.3, 0.99])
    account.responses.meter = LatencyMeter(
        account, account.publish, clock, random.randbytes, lambda: next(chances)
    )
    for _ in range(4):
        registry.accounts["B"].publish("q", source=Asker())
    assert [each["status"] for each in found] == [400, 400]


def test_what_the_server_publishes_is_not_measured() -> None:
    registry, _ = accounts_with_latency()
    found = results(registry)
    registry.accounts["B"].publish("q", own=True)
    assert found == []


def test_nothing_is_made_where_nobody_listens() -> None:
    registry, _ = accounts_with_latency()
    account = registry.accounts["A"]
    before = account.in_msgs
    registry.accounts["B"].publish("q", source=Asker())
    assert account.in_msgs == before
    assert results(registry) == []


def test_a_shorter_threshold_is_not_held_up_by_a_longer_one() -> None:
    registry, clock = accounts_with_latency()
    account = registry.accounts["A"]
    for subject in ("q", "soon"):
        account.subscribe(subject, lambda message: None)
        registry.accounts["B"].publish(subject, reply="inbox", source=Asker())
    assert len(account.responses) == 2
    clock.advance(SECOND)
    assert len(account.responses) == 1
    clock.advance(60 * SECOND)
    assert len(account.responses) == 0
    assert clock.pending() == 0


@pytest.mark.parametrize(
    "block",
    [
        b"",
        b"NATS/1.0\r\n\r\n",
        b"NATS/1.0\r\nUber-Trace-Id: a:b:c:\xff\r\n\r\n",
        b"NATS/1.0\r\nUber-Trace-Id: a:b:c:+1\r\n\r\n",
        b"NATS/1.0\r\nTraceparent: 00-a-b-0_1\r\n\r\n",
        b"NATS/1.0\r\nTraceparent: ---\r\n\r\n",
        b"NATS/1.0\r\nX-B3-TraceId: 1\r\nX: " + b"x" * 20_000 + b"\r\n\r\n",
    ],
)
def test_hostile_headers_ask_for_nothing(block: bytes) -> None:
    assert trace_headers(block) is None
