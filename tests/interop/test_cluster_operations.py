"""The same random operations on clusters and leafs of both implementations: clients receive the same.

A seed is one sequence of operations. Members of a queue group are chosen at random: for those the test
compares how many received a message, and whether they are behind a leaf connection.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from lib.eventually import eventually
from lib.topology import SHAPES, Shape
from lib.wire import Frame, Msg, Wire

SUBJECTS = ["a.b", "a.c", "a.b.c", "news.x", "news.x.y", "from.news.x", "from.a"]
PATTERNS = [*SUBJECTS, "a.*", "a.>", "*.b", ">", "news.>", "news.*", "from.>", "from.news.*"]
STEPS = 8
CASES = [
    ("mesh", ("pyjs", "pyjs", "pyjs")),
    ("mesh", ("pyjs", "reference", "pyjs")),
    ("one-leaf", ("pyjs", "pyjs", "pyjs")),
    ("two-leafs", ("pyjs", "reference", "pyjs", "reference")),
    ("leaf-cluster", ("pyjs", "pyjs", "pyjs", "pyjs")),
    ("leaf-cluster", ("pyjs", "reference", "reference", "pyjs")),
]
Key = tuple[str, str]  # server, user


class Crowd:
    """A client of each user on each server of a shape."""

    def __init__(self, shape: Shape, users: Sequence[str]) -> None:
        self.shape = shape
        self.users = users
        self.wires: dict[Key, Wire] = {}
        self.turn = 0
        for name in shape.servers:
            for user in users:
                self.open((name, user))
        self.converge()

    def open(self, key: Key) -> None:
        """Log in, or in again."""
        if key in self.wires:
            self.wires[key].close()
        wire = self.wires[key] = self.shape.login(*key)
        wire.sub("end.>", "end")
        wire.sync()

    def close(self) -> None:
        for wire in self.wires.values():
            wire.close()

    def converge(self) -> None:
        """Return when everyone's interest has come everywhere: a later one is heard of from everywhere."""
        self.turn += 1
        for (name, _), wire in self.wires.items():
            wire.sub(f"ready.{self.turn}.{name}", f"ready{self.turn}")
            wire.sync()
        for name, user in self.wires:
            self._heard_from_all(name, user)
        for wire in self.wires.values():
            wire.send(f"UNSUB ready{self.turn}\r\n")
        self.rest()

    def _heard_from_all(self, name: str, user: str) -> None:
        missing = set(self.shape.servers) - {name}

        def heard() -> bool:
            for other in missing:
                self.wires[other, user].pub(f"ready.{self.turn}.{name}", other)
                self.wires[other, user].sync()
            for frame in self.wires[name, user].sync():
                if isinstance(frame, Msg) and frame.sid == f"ready{self.turn}":
                    missing.discard(frame.body.decode())
            return not missing

        eventually(heard)

    def rest(self) -> dict[Key, list[Frame]]:
        """What has come meanwhile, but for the words of this class. A later echo is found next."""
        return {key: _without_marks(wire.sync()) for key, wire in self.wires.items()}

    def publish(self, key: Key, subject: str, body: str, reply: str, headers: dict[str, str] | None) -> Any:
        """What each client hears of one message."""
        self.turn += 1
        self.wires[key].pub(subject, body, reply=reply, headers=headers)
        self.wires[key].pub(f"end.{self.turn}")
        heard: dict[Key, list[Frame]] = {}
        for each, wire in self.wires.items():
            heard[each] = []
            while each[1] == key[1]:
                frame = wire.next()
                if isinstance(frame, Msg) and (frame.subject, frame.sid) == (f"end.{self.turn}", "end"):
                    break
                heard[each].append(frame)
        for each, frames in self.rest().items():
            heard[each] = _without_marks(heard[each]) + frames
        return heard


def _without_marks(frames: list[Frame]) -> list[Frame]:
    return [f for f in frames if not isinstance(f, Msg) or not f.subject.startswith(("end.", "ready."))]


@dataclass
class Operations:
    """What has been sent so far. queues: name by (client, sid)."""

    rng: random.Random
    crowds: list[Crowd]
    log: list[Any] = field(default_factory=list)
    subscriptions: list[tuple[Key, str]] = field(default_factory=list)
    queues: dict[tuple[Key, str], str] = field(default_factory=dict)
    turn: int = 0

    def client(self) -> Key:
        names = list(self.crowds[0].shape.servers)
        return self.rng.choice(names), self.rng.choice(self.crowds[0].users)

    def listen(self) -> None:
        """Somebody hears more or less than before."""
        kind = self.rng.random()
        if kind < 0.65 or not self.subscriptions:
            key, subject = self.client(), self.rng.choice(PATTERNS)
            queue = self.rng.choice(["", "", "q1", "q2"])
            most = self.rng.choice([0, 0, 0, 2]) if not queue and key[1] == "acc" else 0
            self.turn += 1
            sid = str(self.turn)
            self.subscriptions.append((key, sid))
            if queue:
                self.queues[key, sid] = queue
            self.log.append(("sub", key, subject, queue, sid, most))
            for crowd in self.crowds:
                crowd.wires[key].sub(subject, sid, queue=queue)
                if most:
                    crowd.wires[key].send(f"UNSUB {sid} {most}\r\n")
                crowd.wires[key].sync()
        elif kind < 0.9:
            key, sid = self.subscriptions.pop(self.rng.randrange(len(self.subscriptions)))
            self.log.append(("unsub", key, sid))
            for crowd in self.crowds:
                crowd.wires[key].send(f"UNSUB {sid}\r\n")
                crowd.wires[key].sync()
        else:
            key = self.client()
            self.log.append(("login", key))
            self.subscriptions = [each for each in self.subscriptions if each[0] != key]
            for crowd in self.crowds:
                crowd.open(key)

    def publish(self) -> None:
        """Somebody speaks: the same must be heard."""
        key, subject = self.client(), self.rng.choice(SUBJECTS)
        reply = self.rng.choice(["", "", "back.1"])
        headers = self.rng.choice([None, None, {"A": "1"}])
        body = str(len(self.log))
        self.log.append(("pub", key, subject, reply, headers))
        reference, pyjs = (
            self.shown(crowd.publish(key, subject, body, reply, headers)) for crowd in self.crowds
        )
        assert pyjs == reference, f"step {len(self.log)}, before: {self.log[-10:]}"

    def shown(self, heard: dict[Key, list[Frame]]) -> Counter[Any]:
        found: Counter[Any] = Counter()
        for key, frames in heard.items():
            for frame in frames:
                queue = self.queues.get((key, frame.sid)) if isinstance(frame, Msg) else None
                if isinstance(frame, Msg) and queue:
                    found[queue, key[0][0], frame.body] += 1
                else:
                    found[key, str(frame)] += 1
        return found


@pytest.fixture(scope="module", params=CASES, ids=lambda case: f"{case[0]}-{'-'.join(case[1])}")
def shapes(request: pytest.FixtureRequest) -> Iterator[tuple[Shape, Shape]]:
    name, implementations = request.param
    reference = Shape(SHAPES[name], ["reference"] * len(implementations))
    try:
        pyjs = Shape(SHAPES[name], implementations)
        yield reference, pyjs
        pyjs.close()
    finally:
        reference.close()


@pytest.mark.parametrize("seed", range(1))
def test_every_client_hears_the_same(shapes: tuple[Shape, Shape], seed: int) -> None:
    # Over a leaf connection each account that imports hears by itself, and echoes differ: see differences.md.
    users = ["acc", "other"] if "l0" not in shapes[0].servers else ["acc"]
    crowds = [Crowd(shape, users) for shape in shapes]
    operations = Operations(random.Random(seed), crowds)
    try:
        for _ in range(STEPS):
            for _ in range(operations.rng.randrange(1, 4)):
                operations.listen()
            for crowd in crowds:
                crowd.converge()
            for _ in range(4):
                operations.publish()
    finally:
        for crowd in crowds:
            crowd.close()
