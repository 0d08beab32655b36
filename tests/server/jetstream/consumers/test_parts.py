"""Parts of a consumer by themselves, on ports that the test implements: inactivity and ack waits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from lib.fake_clock import FakeClock
from pyjs.protocol.api.consumer import ConsumerConfig
from pyjs.server.accounts.account import Account
from pyjs.server.accounts.flusher import Flusher
from pyjs.server.jetstream.consumers.ackwaits import AckWaits
from pyjs.server.jetstream.consumers.advisories import ConsumerAdvisories
from pyjs.server.jetstream.consumers.dead_letters import DeadLetters, LetterSource
from pyjs.server.jetstream.consumers.delivery_state import GRACE, DeliveryState
from pyjs.server.jetstream.consumers.inactivity import Inactivity
from pyjs.server.jetstream.consumers.persistence import NotPersisted
from pyjs.server.jetstream.host import JetStreamHost
from pyjs.store.memory import MemoryStream

SECOND = 1_000_000_000
# A push consumer that is durable keeps exactly to its threshold; others get some random time more.
EXACT = ConsumerConfig(durable_name="C", deliver_subject="d", inactive_threshold=SECOND)


class Usage:
    """How a consumer is used, as the test says."""

    def __init__(self) -> None:
        self.bound = False
        self.until = 0

    def used_until(self, _now: int, _threshold: int) -> int:
        return self.until


class Counted:
    """An `Inactivity` that counts how often it expired."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.usage = Usage()
        self.expired = 0
        self.inactivity = Inactivity(self.clock, self.usage, self._expire)

    def _expire(self) -> None:
        self.expired += 1


def test_an_unused_consumer_expires_after_its_threshold() -> None:
    counted = Counted()
    counted.inactivity.configure(EXACT)
    counted.clock.advance(SECOND - 1)
    assert counted.expired == 0
    counted.clock.advance(1)
    assert (counted.expired, counted.clock.pending()) == (1, 0)


def test_a_bound_consumer_never_expires_and_begins_to_count_when_nobody_is_bound_any_more() -> None:
    counted = Counted()
    counted.usage.bound = True
    counted.inactivity.configure(EXACT)
    counted.clock.advance(10 * SECOND)
    counted.usage.bound = False
    counted.inactivity.changed()
    counted.clock.advance(SECOND - 1)
    assert counted.expired == 0
    counted.clock.advance(1)
    assert counted.expired == 1


def test_the_threshold_counts_from_the_last_use() -> None:
    counted = Counted()
    counted.inactivity.configure(EXACT)
    counted.usage.until = counted.clock.now() + SECOND // 2
    counted.clock.advance(SECOND * 3 // 2 - 1)
    assert counted.expired == 0
    counted.clock.advance(1)
    assert counted.expired == 1


class Deliverer:
    """Notes what acks and waits set off."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def deliver(self) -> None:
        self.calls.append("deliver")

    def deliver_later(self) -> None:
        self.calls.append("deliver later")

    def spread(self, steps: Iterator[None], then: Callable[[], None]) -> None:
        for _ in steps:
            pass
        then()


class Waiting:
    """Ack waits of a second, for messages that may be delivered twice."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        account = Account("A", Flusher(self.clock))
        self.reported: list[str] = []
        account.subscribe("$JS.EVENT.ADVISORY.>", lambda message: self.reported.append(message.subject))
        host = JetStreamHost(clock=self.clock, executor=NoExecutor())
        self.state = DeliveryState(track=True, ack_wait=SECOND)
        self.state.max_deliver = 2
        self.deliverer = Deliverer()
        advisories = ConsumerAdvisories(account, host, "S", "C")
        source = LetterSource("S", "C", "origin", "consumer 'S > C'", lambda _: ())
        letters = DeadLetters(source, account, host, MemoryStream(), self.state)
        self.waits = AckWaits(self.clock, self.state, NotPersisted(), advisories, letters, self.deliverer)


class NoExecutor:
    """Nothing is to be executed here."""

    def soon(self, callback: Any) -> None:
        raise AssertionError

    def work(self, job: Any, done: Any) -> Any:
        raise AssertionError


def test_a_late_ack_sets_off_a_delivery_and_the_last_one_an_advisory() -> None:
    waiting = Waiting()
    waiting.state.deliver(7, waiting.clock.now())
    waiting.waits.delivered()
    waiting.clock.advance(SECOND + GRACE)
    assert (waiting.deliverer.calls, waiting.state.take()) == (["deliver"], 7)
    waiting.state.redeliver(7, waiting.clock.now())
    waiting.waits.delivered()
    waiting.clock.advance(SECOND + GRACE)
    assert waiting.deliverer.calls == ["deliver"]
    assert waiting.reported == ["$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.S.C"]
    assert waiting.state.outstanding == 0


def test_a_full_consumer_that_gives_up_a_message_goes_on_in_the_next_turn() -> None:
    waiting = Waiting()
    waiting.state.max_ack_pending = 1
    waiting.state.deliver(7, waiting.clock.now())
    waiting.waits.give_up(7)
    assert waiting.deliverer.calls == ["deliver later"]


def test_a_pending_message_that_left_the_stream_is_reported_as_terminated() -> None:
    waiting = Waiting()
    waiting.state.deliver(7, waiting.clock.now())
    waiting.waits.dropped(7)
    waiting.waits.dropped(7)
    assert waiting.reported == ["$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED.S.C"]
    assert waiting.deliverer.calls == []
