"""The index of consumers against asking each of them, whatever happens to them."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from lib.consumer_fixture import ConsumerFixture
from pyjs.protocol.subject import matches
from pyjs.server.jetstream.consumers.info import describe
from pyjs.server.jetstream.streams import stream_consumers as module
from pyjs.server.jetstream.streams.stream_consumers import StreamConsumers

FILTERS = ["a", "a.b", "a.*", "*.b", "a.>", ">", "*.*.c", "a.*.c", "b.>", "c"]
SUBJECTS = ["a", "a.b", "a.c", "b.b", "a.b.c", "b.x.c", "c", "d", "a.*", "*.b", "a.>", "x.y.z.w"]


class One:
    """A consumer that counts how often it is asked."""

    asked = 0

    def __init__(self, filters: Sequence[str], needed: set[int]) -> None:
        self.filters = filters
        self.needed = needed
        self.passed = 0

    def selects(self, subject: str) -> bool:
        return not self.filters or any(matches(one, subject) for one in self.filters)

    def needs(self, seq: int) -> bool:
        One.asked += 1
        return seq in self.needed


def check(consumers: StreamConsumers[One], there: dict[str, One], rng: random.Random) -> None:
    assert dict(consumers) == there
    assert list(consumers.values()) == [consumers[name] for name in consumers]
    subject, seq = rng.choice(SUBJECTS), rng.randrange(10)
    but = rng.choice([None, *there.values()])
    selecting = {name for name, one in there.items() if one.selects(subject)}
    assert consumers.select(subject) == bool(selecting)
    wanting = [there[name] for name in selecting if seq in there[name].needed]
    assert consumers.want(seq, subject) == bool(wanting)
    assert consumers.want(seq, subject, but) == any(one is not but for one in wanting)
    found = consumers.concerned(consumers.strays + 1, subject)
    assert len(set(map(id, found))) == len(found)
    assert {id(there[name]) for name in selecting} <= set(map(id, found))
    for seq, about in ((consumers.strays, subject), (consumers.strays + 1, "")):
        assert consumers.concerned(seq, about) == list(consumers.values())


@pytest.mark.parametrize("letters", [8192, 4, 0])
def test_as_if_each_were_asked(monkeypatch: pytest.MonkeyPatch, letters: int) -> None:
    monkeypatch.setattr(module, "LETTERS", letters)
    rng = random.Random(letters)
    consumers: StreamConsumers[One] = StreamConsumers()
    there: dict[str, One] = {}

    def filters() -> list[str]:
        return [rng.choice(FILTERS) for _ in range(rng.randrange(4))]

    for step in range(4000):
        name = rng.choice("abcdefgh")
        act = rng.randrange(6)
        if act <= 1:
            consumers[name] = there[name] = One(filters(), set(rng.sample(range(10), rng.randrange(4))))
        elif act == 2:
            assert consumers.pop(name, None) is there.pop(name, None)
        elif act == 3 and name in there:
            there[name].filters = filters()
            consumers.refiltered(name, step)
            assert consumers.strays == step
        elif act == 4 and name in there:
            there[name].needed ^= {rng.randrange(10)}
        elif step % 500 == 0:
            consumers.clear()
            there.clear()
        check(consumers, there, rng)


def test_the_cost_is_of_those_that_match() -> None:
    consumers: StreamConsumers[One] = StreamConsumers()
    for number in range(200):
        consumers[f"f{number}"] = One([f"w.{number}"], {1})
        consumers[f"all{number}"] = One(["all.>"], set())
    consumers["all77"].needed = {1}
    One.asked = 0
    assert consumers.want(1, "w.5")
    assert not consumers.want(2, "w.5")
    assert consumers.concerned(1, "w.5") == [consumers["f5"]]
    assert One.asked == 2
    assert consumers.want(1, "all.x")
    One.asked = 0
    assert all(consumers.want(1, "all.x", consumers["all78"]) for _ in range(10))
    assert One.asked == 10  # who wanted the last one is asked first


def test_what_was_delivered_under_other_filters_is_not_waited_for_when_it_leaves() -> None:
    fixture = ConsumerFixture()
    consumer = fixture.consumer(durable_name="c", ack_policy="explicit", filter_subject="s.1")
    inbox = fixture.subscribe("inbox")
    fixture.publish("one", "two", subject="s.1")
    fixture.pull(consumer)
    assert inbox.bodies() == ["one"]
    fixture.consumer(durable_name="c", ack_policy="explicit", filter_subject="s.2")
    assert describe(consumer).num_ack_pending == 1
    assert fixture.stream.removal.delete_message(1, erase=False)
    assert describe(consumer).num_ack_pending == 0
    fixture.publish("three", subject="s.2")
    assert fixture.stream.removal.delete_message(3, erase=False)
    assert describe(consumer).num_pending == 0
