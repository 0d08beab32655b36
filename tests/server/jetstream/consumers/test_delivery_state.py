"""Saved parts of a DeliveryState restore its state, also where only changes are saved."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from lib.consumer_fixture import SECOND, ConsumerFixture
from lib.examples import seeds
from lib.fake_disk import FakeDisk
from pyjs.server.jetstream.consumers import delivery_state as delivery_states
from pyjs.server.jetstream.consumers.delivery_state import DeliveryState
from pyjs.server.jetstream.consumers.info import describe
from pyjs.store.consumer import FileConsumer
from pyjs.store.consumer_state import ConsumerChange

WAIT = 5 * SECOND


class Scenario:
    """Random calls of a DeliveryState, as its consumer makes them."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        backoff = self.random.choice([(), (SECOND, 3 * SECOND)])
        self.delivery_state = DeliveryState(track=True, ack_wait=WAIT, backoff=backoff)
        self.delivery_state.max_deliver = 3
        self.now = SECOND

    def some(self) -> int:
        """A message that is pending, or 0."""
        pending = [*self.delivery_state.pending, *self.delivery_state.aside]
        return self.random.choice(pending) if pending else 0

    def step(self) -> None:
        self.now += self.random.randrange(SECOND)
        delivery_state, seq = self.delivery_state, self.some()
        match self.random.randrange(14):
            case 0 | 1 | 2 | 3:
                self.deliver(delivery_state.stream_seq)
            case 4:
                delivery_state.ack(self.random.randint(1, delivery_state.stream_seq + 1))
            case 5 if seq:
                delivery_state.queue(seq)
            case 6 if seq:
                delivery_state.delay(seq, self.now, self.random.randint(1, 9) * SECOND)
            case 7 if seq:
                delivery_state.touch(seq, self.now)
            case 8:
                for exhausted in delivery_state.expire(self.now, 3):
                    delivery_state.give_up(exhausted)
            case 9 if again := delivery_state.take():
                before = (delivery_state.consumer_seq, delivery_state.stream_seq)
                delivery_state.redeliver(again, self.now)
                if self.random.random() < 0.3:
                    delivery_state.undo(again, delivery_state.deliveries(again), before)
            case 10:
                self.through()
            case 11:
                delivery_state.ack_wait = self.random.randint(1, 9) * SECOND
                delivery_state.backoff = self.random.choice([(), (2 * SECOND, 4 * SECOND)])
                list(delivery_state.retiming())
            case 12:
                first = self.random.randint(1, delivery_state.stream_seq + 2)
                list(
                    delivery_state.purging(
                        first, None if self.random.random() < 0.5 else range(first, first + 3)
                    )
                )
                list(delivery_state.unqueueing())
            case 13 if self.random.random() < 0.1:
                delivery_state.start(0)

    def deliver(self, last: int) -> None:
        """Some first deliveries, at once or one by one."""
        seqs = [last + 2 * place - self.random.randint(0, 1) for place in range(1, self.random.randint(2, 6))]
        before = self.delivery_state.consumer_seq
        if self.random.random() < 0.5:
            self.delivery_state.deliver_run(seqs, self.now)
        else:
            for seq in seqs:
                self.delivery_state.deliver(seq, self.now)
        numbers = [self.delivery_state.entry(seq) for seq in seqs]
        assert numbers == [(before + place, self.now) for place in range(1, len(seqs) + 1)]
        assert self.delivery_state.stream_seq == seqs[-1]

    def through(self) -> None:
        delivery_state = self.delivery_state
        seq = self.random.randint(1, delivery_state.stream_seq + 1)
        number = delivery_state.consumer_seq
        if self.random.random() < 0.3:
            delivery_state.ack_through(
                number, min(seq, delivery_state.stream_seq), 2
            )  # the first slice of it
            return
        while not delivery_state.ack_through(number, min(seq, delivery_state.stream_seq), 2)[1]:
            self.check()
        assert all(
            one > delivery_state.floor_stream
            for one in (*delivery_state.pending, *delivery_state.aside, *delivery_state.redelivered)
        )

    def check(self) -> None:
        delivery_state = self.delivery_state
        pending = {**delivery_state.pending, **delivery_state.aside}
        assert len(pending) == delivery_state.outstanding
        assert set(delivery_state.queued) <= set(delivery_state.aside)
        assert delivery_state.floor_stream <= delivery_state.stream_seq
        assert delivery_state.floor_stream < min(pending, default=delivery_state.floor_stream + 1)
        times = [entry[1] for entry in delivery_state.pending.values()]
        assert times == sorted(times)
        waiting = set(delivery_state.aside) - set(delivery_state.queued)
        assert all(seq in delivery_state._deadlines for seq in waiting)
        assert set(delivery_state.redelivered) - set(pending) == {
            seq for seq in delivery_state.redelivered if seq in delivery_state._given_up
        }


@seeds(15)
def test_saved_changes_lead_to_the_state(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery_states, "MANY", 2)
    scenario = Scenario(seed)
    disk = FakeDisk()
    store = FileConsumer("/c", fs=disk)
    kinds = set()
    for number in range(400):
        scenario.step()
        scenario.check()
        if scenario.random.random() < 0.3:
            saved = scenario.delivery_state.to_save()
            kinds.add(type(saved))
            store.save(saved)
            if scenario.random.random() < 0.7:
                store.commit_sync()
                assert FileConsumer("/c", fs=disk).load() == scenario.delivery_state.state()
        if number % 100 == 99:
            store.save(scenario.delivery_state.to_save())
            store.close()
            store = FileConsumer("/c", fs=disk)
            state = store.load()
            assert state == scenario.delivery_state.state()
            scenario.delivery_state.restore(state, scenario.now)
            scenario.delivery_state.advance_floor()
            assert scenario.delivery_state.state().pending == state.pending
    assert ConsumerChange in kinds


@seeds(10)
def test_acks_that_come_together_have_the_result_of_one_after_the_other(seed: int) -> None:
    together, single = Scenario(seed), Scenario(seed)
    for _ in range(100):
        together.step()
        single.step()
        delivery_state = together.delivery_state
        seqs = together.random.sample(range(1, delivery_state.stream_seq + 4), 3)
        single.random.setstate(together.random.getstate())
        acked = [single.delivery_state.ack(seq) for seq in seqs]
        assert delivery_state.ack_run(seqs) == any(acked)
        assert delivery_state.state() == single.delivery_state.state()
        together.check()


def test_a_save_of_much_costs_by_what_changed() -> None:
    delivery_state = DeliveryState(track=True, ack_wait=WAIT)
    for seq in range(1, 20_001):
        delivery_state.deliver(seq, SECOND)
    delivery_state.to_save()
    delivery_state.ack(7)
    delivery_state.deliver(20_001, SECOND)
    saved = delivery_state.to_save()
    assert isinstance(saved, ConsumerChange)
    assert saved.pending == {7: None, 20_001: (20_001, SECOND)}


def test_an_ack_of_many_is_confirmed_when_all_of_it_is_done() -> None:
    fixture = ConsumerFixture()
    consumer = fixture.consumer(durable_name="C", ack_policy="all", max_ack_pending=-1)
    got = fixture.subscribe("inbox")
    for _ in range(2000):
        fixture.publish("x")
    fixture.pull(consumer, '{"batch":2000,"expires":1000000000}')
    fixture.clock.advance(0)
    messages = got.take()
    later: list[Callable[[], None]] = []
    fixture.host.executor.soon = later.append  # type: ignore[method-assign]
    fixture.ack(messages[1499], reply="confirmed")
    confirmed = fixture.subscribe("confirmed")
    while later:
        assert not confirmed.messages
        assert 0 < describe(consumer).num_ack_pending < 2000
        later.pop(0)()
    assert len(confirmed.take()) == 1
    assert describe(consumer).num_ack_pending == 500
    assert describe(consumer).ack_floor.stream_seq == 1500
