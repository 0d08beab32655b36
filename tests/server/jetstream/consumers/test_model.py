"""Random deliveries, acks, naks, terms, timeouts and removals, against a very simple model."""

from __future__ import annotations

import random
from dataclasses import dataclass

from lib.consumer_fixture import SECOND, ConsumerFixture
from lib.examples import seeds
from pyjs.server.accounts.subscription import Message
from pyjs.server.jetstream.consumers import acks
from pyjs.server.jetstream.consumers.info import describe

MILLISECOND = 1_000_000
ACK_WAIT = 5 * SECOND
GRACE = MILLISECOND


@dataclass
class Entry:
    number: int
    count: int
    deadline: int


class Model:
    """A consumer with explicit acks, as slow and as plain as can be."""

    def __init__(self, wanted: set[str], limit: int, max_deliver: int, backoff: list[int]) -> None:
        self.wanted = wanted
        self.limit = limit
        self.max_deliver = max_deliver
        self.backoff = backoff
        self.stream: dict[int, str] = {}
        self.last = 0
        self.position = 0
        self.delivered = self.floor = (0, 0)
        self.pending: dict[int, Entry] = {}
        self.queue: list[int] = []
        self.given_up: list[int] = []

    def wait(self, count: int) -> int:
        if self.backoff:
            return self.backoff[min(count - 1, len(self.backoff) - 1)] + GRACE
        return ACK_WAIT + GRACE

    def publish(self, subject: str) -> None:
        self.last += 1
        self.stream[self.last] = subject

    def todo(self) -> list[int]:
        return [s for s in sorted(self.stream) if s > self.position and self.stream[s] in self.wanted]

    def take(self, now: int) -> tuple[int, int] | None:
        while self.queue:
            seq = self.queue.pop(0)
            entry = self.pending[seq]
            if 0 < self.max_deliver <= entry.count:
                self.give_up(seq)
                continue
            entry.count += 1
            entry.deadline = now + self.wait(entry.count)
            self.delivered = (self.delivered[0] + 1, self.delivered[1])
            return seq, entry.count
        if len(self.pending) >= self.limit or not self.todo():
            return None
        seq = self.todo()[0]
        self.position = seq
        self.delivered = (self.delivered[0] + 1, seq)
        self.pending[seq] = Entry(self.delivered[0], 1, now + self.wait(1))
        return seq, 1

    def give_up(self, seq: int) -> None:
        del self.pending[seq]
        if seq in self.queue:
            self.queue.remove(seq)
        self.given_up.append(seq)

    def drop(self, seq: int) -> None:
        if self.pending.pop(seq, None) is None:
            return
        if seq in self.queue:
            self.queue.remove(seq)
        if not self.pending:
            self.floor = self.delivered
        elif seq < (lowest := min(self.pending)):
            self.floor = (self.pending[lowest].number - 1, lowest - 1)

    def advance(self, until: int) -> None:
        while due := [
            e.deadline for s, e in self.pending.items() if e.deadline <= until and s not in self.queue
        ]:
            at = min(due)
            for seq in sorted(s for s, e in self.pending.items() if e.deadline == at and s not in self.queue):
                entry = self.pending[seq]
                if 0 < self.max_deliver <= entry.count:
                    self.give_up(seq)
                    continue
                entry.deadline = at + self.wait(entry.count)
                self.queue.append(seq)


class Run:
    """One random sequence of events, for the consumer and for the model."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.fixture = ConsumerFixture()
        backoff = self.random.choice([[], [SECOND, 3 * SECOND]])
        limit, most = self.random.choice([3, 20, 1000]), self.random.choice([-1, 2, 4])
        filters = self.random.choice([[], ["s.a"], ["s.a", "s.b"]])
        self.consumer = self.fixture.consumer(
            durable_name="C",
            ack_policy="explicit",
            ack_wait=ACK_WAIT,
            backoff=backoff,
            max_ack_pending=limit,
            max_deliver=most,
            filter_subjects=filters,
        )
        self.model = Model(set(filters) or {"s.a", "s.b", "s.c"}, limit, most, backoff)
        self.got = self.fixture.subscribe("inbox")
        self.exceeded = self.fixture.subscribe("$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.S.C")
        self.last: dict[int, Message] = {}

    @property
    def now(self) -> int:
        return self.fixture.clock.now()

    def step(self) -> None:
        weights = {
            self.publish: 6,
            self.pull: 6,
            self.ack: 8,
            self.nak: 3,
            self.nak_later: 2,
            self.progress: 2,
            self.term: 1,
            self.advance: 3,
            self.remove: 1,
            self.purge: 0.2,
        }
        self.random.choices(list(weights), list(weights.values()))[0]()
        self.compare()

    def publish(self) -> None:
        for _ in range(self.random.randint(1, 6)):
            subject = self.random.choice(["s.a", "s.b", "s.c"])
            self.fixture.publish("x", subject=subject)
            self.model.publish(subject)

    def pull(self) -> None:
        batch = self.random.randint(1, 8)
        self.fixture.pull(self.consumer, f'{{"batch":{batch},"expires":1}}')
        expected = []
        for _ in range(batch):
            taken = self.model.take(self.now)
            if taken is None:
                break
            expected.append(taken)
        delivered = []
        for message in self.got.take():
            info = acks.parse_subject(message.reply)
            assert info is not None
            delivered.append((info.stream_seq, info.deliveries))
            self.last[info.stream_seq] = message
        assert delivered == expected
        self.move(1)
        self.got.take()

    def move(self, ns: int) -> None:
        self.fixture.clock.advance(ns)
        self.model.advance(self.now)

    def pick(self) -> Message | None:
        return self.last[self.random.choice(sorted(self.last))] if self.last else None

    def acknowledge(self, body: str) -> int:
        message = self.pick()
        if message is None:
            return 0
        self.fixture.ack(message, body)
        info = acks.parse_subject(message.reply)
        assert info is not None
        return info.stream_seq

    def ack(self) -> None:
        self.model.drop(self.acknowledge(self.random.choice(["", "+ACK", "+OK"])))

    def term(self) -> None:
        self.model.drop(self.acknowledge("+TERM why"))

    def nak(self) -> None:
        seq = self.acknowledge("-NAK")
        if seq in self.model.pending and seq not in self.model.queue:
            self.model.queue.append(seq)

    def nak_later(self) -> None:
        delay = self.random.randint(1, 8) * SECOND
        seq = self.acknowledge(f'-NAK {{"delay": {delay}}}')
        if seq in self.model.pending:
            self.model.pending[seq].deadline = self.now + delay
            if seq in self.model.queue:
                self.model.queue.remove(seq)

    def progress(self) -> None:
        entry = self.model.pending.get(self.acknowledge("+WPI"))
        if entry is not None:
            entry.deadline = self.now + self.model.wait(entry.count)

    def advance(self) -> None:
        self.move(self.random.randint(1, 3 * SECOND))

    def remove(self) -> None:
        if self.model.stream:
            seq = self.random.choice(sorted(self.model.stream))
            self.fixture.stream.removal.delete_message(seq, erase=False)
            del self.model.stream[seq]
            self.model.drop(seq)

    def purge(self) -> None:
        keep = self.random.randint(1, 5)
        self.fixture.stream.removal.purge(keep=keep)
        for seq in sorted(self.model.stream)[:-keep]:
            del self.model.stream[seq]
            self.model.drop(seq)
        for seq in self.model.queue:
            self.model.pending[seq].deadline = max(self.model.pending[seq].deadline, self.now)
        self.model.queue = []
        self.fixture.clock.advance(0)
        self.model.advance(self.now)

    def compare(self) -> None:
        self.fixture.clock.advance(0)
        info, model = describe(self.consumer), self.model
        assert info.num_ack_pending == len(model.pending)
        assert info.num_pending == len(model.todo())
        assert len(self.exceeded.messages) == len(model.given_up)
        if info.delivered.stream_seq == model.delivered[1]:
            assert info.delivered.consumer_seq == model.delivered[0]
            assert (info.ack_floor.consumer_seq, info.ack_floor.stream_seq) == model.floor
        else:  # a purge moved it on
            model.delivered = model.floor = (model.delivered[0], info.delivered.stream_seq)
        delivery_state = self.consumer.delivery_state
        assert info.ack_floor.stream_seq <= info.delivered.stream_seq
        assert set(delivery_state.queued) <= set(delivery_state.aside)


@seeds(30)
def test_a_consumer_does_what_the_model_does(seed: int) -> None:
    run = Run(seed)
    for _ in range(150):
        run.step()
