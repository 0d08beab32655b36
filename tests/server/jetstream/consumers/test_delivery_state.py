"""What a ledger gives to be saved leads to its state, also where only changes are saved."""

from __future__ import annotations

import random

import pytest
from lib.consumer_fixture import SECOND, Rig
from lib.fake_disk import FakeDisk
from pyjs.server.jetstream.consumers import delivery_state as ledgers
from pyjs.server.jetstream.consumers.delivery_state import DeliveryState
from pyjs.store.consumer import FileConsumer
from pyjs.store.consumer_state import ConsumerChange

WAIT = 5 * SECOND


class Story:
    """Random calls of a ledger, as its consumer makes them."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        backoff = self.random.choice([(), (SECOND, 3 * SECOND)])
        self.ledger = DeliveryState(track=True, ack_wait=WAIT, backoff=backoff, max_deliver=3)
        self.now = SECOND

    def some(self) -> int:
        """A message that is pending, or 0."""
        pending = [*self.ledger.pending, *self.ledger.aside]
        return self.random.choice(pending) if pending else 0

    def step(self) -> None:
        self.now += self.random.randrange(SECOND)
        ledger, seq = self.ledger, self.some()
        match self.random.randrange(14):
            case 0 | 1 | 2 | 3:
                for _ in range(self.random.randint(1, 5)):
                    ledger.deliver(ledger.stream_seq + self.random.randint(1, 2), self.now)
            case 4:
                ledger.ack(self.random.randint(1, ledger.stream_seq + 1))
            case 5 if seq:
                ledger.queue(seq)
            case 6 if seq:
                ledger.delay(seq, self.now, self.random.randint(1, 9) * SECOND)
            case 7 if seq:
                ledger.touch(seq, self.now)
            case 8:
                for exhausted in ledger.expire(self.now, 3):
                    ledger.give_up(exhausted)
            case 9 if again := ledger.take():
                before = (ledger.consumer_seq, ledger.stream_seq)
                ledger.redeliver(again, self.now)
                if self.random.random() < 0.3:
                    ledger.undo(again, ledger.deliveries(again), before)
            case 10:
                self.through()
            case 11:
                ledger.ack_wait = self.random.randint(1, 9) * SECOND
                ledger.backoff = self.random.choice([(), (2 * SECOND, 4 * SECOND)])
                list(ledger.retiming())
            case 12:
                first = self.random.randint(1, ledger.stream_seq + 2)
                list(ledger.purging(first, None if self.random.random() < 0.5 else range(first, first + 3)))
                list(ledger.unqueueing())
            case 13 if self.random.random() < 0.1:
                ledger.start(0)

    def through(self) -> None:
        ledger = self.ledger
        seq = self.random.randint(1, ledger.stream_seq + 1)
        number = ledger.consumer_seq
        if self.random.random() < 0.3:
            ledger.ack_through(number, min(seq, ledger.stream_seq), 2)  # the first slice of it
            return
        while not ledger.ack_through(number, min(seq, ledger.stream_seq), 2)[1]:
            self.check()
        assert all(one > ledger.floor_stream for one in (*ledger.pending, *ledger.aside, *ledger.redelivered))

    def check(self) -> None:
        ledger = self.ledger
        pending = {**ledger.pending, **ledger.aside}
        assert len(pending) == ledger.outstanding
        assert set(ledger.queued) <= set(ledger.aside)
        assert ledger.floor_stream <= ledger.stream_seq
        assert ledger.floor_stream < min(pending, default=ledger.floor_stream + 1)
        times = [entry[1] for entry in ledger.pending.values()]
        assert times == sorted(times)
        waiting = set(ledger.aside) - set(ledger.queued)
        assert all(seq in ledger._deadlines for seq in waiting)
        assert set(ledger.redelivered) - set(pending) == {
            seq for seq in ledger.redelivered if seq in ledger._given_up
        }


@pytest.mark.parametrize("seed", range(40))
def test_saved_changes_lead_to_the_state(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledgers, "MANY", 2)
    story = Story(seed)
    disk = FakeDisk()
    store = FileConsumer("/c", fs=disk)
    kinds = set()
    for number in range(400):
        story.step()
        story.check()
        if story.random.random() < 0.3:
            saved = story.ledger.to_save()
            kinds.add(type(saved))
            store.save(saved)
            if story.random.random() < 0.7:
                store.commit_sync()
                assert FileConsumer("/c", fs=disk).load() == story.ledger.state()
        if number % 100 == 99:
            store.save(story.ledger.to_save())
            store.close()
            store = FileConsumer("/c", fs=disk)
            state = store.load()
            assert state == story.ledger.state()
            story.ledger.restore(state, story.now)
            story.ledger.settle()
            assert story.ledger.state().pending == state.pending
    assert ConsumerChange in kinds


def test_a_save_of_much_costs_by_what_changed() -> None:
    ledger = DeliveryState(track=True, ack_wait=WAIT)
    for seq in range(1, 20_001):
        ledger.deliver(seq, SECOND)
    ledger.to_save()
    ledger.ack(7)
    ledger.deliver(20_001, SECOND)
    saved = ledger.to_save()
    assert isinstance(saved, ConsumerChange)
    assert saved.pending == {7: None, 20_001: (20_001, SECOND)}


def test_an_ack_of_many_is_confirmed_when_all_of_it_is_done() -> None:
    rig = Rig()
    consumer = rig.consumer(durable_name="C", ack_policy="all", max_ack_pending=-1)
    got = rig.hear("inbox")
    for _ in range(2000):
        rig.publish("x")
    rig.pull(consumer, '{"batch":2000,"expires":1000000000}')
    rig.clock.advance(0)
    messages = got.take()
    later = []
    rig.host.runner.soon = later.append  # type: ignore[method-assign]
    rig.ack(messages[1499], reply="confirmed")
    confirmed = rig.hear("confirmed")
    while later:
        assert not confirmed.messages
        assert 0 < consumer.info().num_ack_pending < 2000
        later.pop(0)()
    assert len(confirmed.take()) == 1
    assert consumer.info().num_ack_pending == 500
    assert consumer.info().ack_floor.stream_seq == 1500
