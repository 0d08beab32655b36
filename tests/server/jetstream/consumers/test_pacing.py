"""The arithmetic of pacing: flow control windows, rate limits, and a push consumer that keeps to them."""

from __future__ import annotations

import pytest
from lib.consumer_fixture import SECOND, ConsumerFixture
from pyjs.protocol import headers
from pyjs.server.accounts.subscription import Message
from pyjs.server.jetstream.consumers.delivery_rate import RateLimit
from pyjs.server.jetstream.consumers.flow_window import FlowWindow


def test_a_window_asks_at_half_and_is_full_beyond_all() -> None:
    window = FlowWindow(1600)
    assert window.size == 100
    assert not window.sent(50)
    assert window.sent(1)
    window.ask("r1")
    assert not window.sent(40)
    assert not window.full()
    assert not window.sent(10)
    assert window.full()


def test_an_answer_frees_what_was_sent_before_the_question_and_doubles_the_window() -> None:
    window = FlowWindow(400)
    window.sent(20)
    window.ask("r1")
    window.sent(7)
    assert not window.answered("another")
    assert window.answered("r1")
    assert (window.outstanding, window.size) == (7, 50)
    for n in range(5):
        window.ask(f"x{n}")
        window.answered(f"x{n}")
    assert window.size == 400


@pytest.mark.parametrize("size", [10, 100, 1000])
def test_a_rate_limit_lets_its_rate_through_whatever_the_size(size: int) -> None:
    limit = RateLimit(8000, 100, 0)  # 1000 bytes a second
    now = 0
    sent = 0
    while now < 20 * SECOND:
        wait = limit.delay(size, now)
        if wait:
            now += wait
        else:
            sent += size
    assert sent == pytest.approx(20_000, abs=1100)


def test_a_push_consumer_keeps_to_its_rate() -> None:
    fixture = ConsumerFixture(max_msg_size=1000)
    fixture.publish(*["x" * 900] * 10)
    got = fixture.subscribe("d")
    fixture.consumer(durable_name="C", deliver_subject="d", rate_limit_bps=8000)
    counts = []
    for _ in range(4):
        fixture.clock.advance(SECOND)
        counts.append(len(got.messages))
    assert counts in ([1, 2, 3, 4], [2, 3, 4, 5])


def test_a_push_consumer_stops_at_its_window_until_it_is_answered() -> None:
    fixture = ConsumerFixture()
    body = "x" * 500_000
    fixture.publish(*[body] * 20)
    got = fixture.subscribe("d")
    fixture.consumer(durable_name="C", deliver_subject="d", flow_control=True, idle_heartbeat=5 * SECOND)
    fixture.clock.advance(0)
    seen = 0

    def requests(messages: list[Message]) -> list[str]:
        return [
            m.reply for m in messages if m.header and headers.status(m.header)[1] == "FlowControl Request"
        ]

    for _ in range(20):
        taken = got.take()
        asked = requests(taken)
        seen += sum(not m.header for m in taken)
        if seen == 20:
            break
        assert len(asked) == 1
        assert seen < 20
        fixture.clock.advance(SECOND)
        assert not got.messages
        fixture.account.publish(asked[0], own=True)
        fixture.clock.advance(0)
    assert seen == 20


def test_a_stalled_consumer_says_in_its_heartbeats_which_request_it_waits_for() -> None:
    fixture = ConsumerFixture()
    fixture.publish(*["x" * 500_000] * 6)
    got = fixture.subscribe("d")
    fixture.consumer(durable_name="C", deliver_subject="d", flow_control=True, idle_heartbeat=SECOND)
    fixture.clock.advance(0)
    (asked,) = [m.reply for m in got.take() if m.header]
    fixture.clock.advance(2 * SECOND)
    beat = got.take()[-1]
    assert headers.get(beat.header, b"Nats-Consumer-Stalled") == asked.encode()
    fixture.account.publish(asked, own=True)
    fixture.clock.advance(0)
    assert got.messages
