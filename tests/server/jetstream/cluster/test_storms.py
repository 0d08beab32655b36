"""Servers crash, lose power, are cut off and get other peers at random: everything acknowledged is kept."""

from __future__ import annotations

import json
from random import Random

from lib.cluster import MILLISECOND
from lib.examples import seeds
from lib.stream_cluster import StreamCluster


class Storm:
    """Some minutes of failures. asked: what was published, by the subject of its answer."""

    def __init__(self, seed: int, storage: str) -> None:
        self.random = Random(seed)
        self.cluster = StreamCluster(
            "one", "two", "three", "four", compact_entries=self.random.choice((3, 20, 200))
        )
        self.cluster.choose = lambda most: self.random.randint(0, most)
        self.cluster.start()
        self.asked: dict[str, str] = {}
        self.number = 0
        self.cluster.create("one", "two", "three", storage=storage)
        self.cluster.consumer("C", ack_wait=1_000_000_000)

    def publish(self) -> None:
        leading = [server for server in self.cluster.all.values() if server.leads()]
        for _ in range(self.random.randint(1, 5)):
            if leading:
                self.number += 1
                self.asked[self.cluster.publish(f"<{self.number}>")] = f"<{self.number}>"

    def crash(self, *, power: bool) -> None:
        running = [server for server in self.cluster.all.values() if server.running]
        if not running:
            return
        server = self.random.choice(running)
        if self.random.random() < 0.3:
            server.stop()
            return
        server.kill(self.cluster.choose if power else None)

    def fetch(self) -> None:
        if any(server.leads() for server in self.cluster.all.values()):
            self.cluster.fetch("C", self.random.randint(1, 9))

    def come_back(self) -> None:
        for server in self.cluster.all.values():
            if not server.running and self.random.random() < 0.5:
                server.start()

    def cut(self) -> None:
        pair = frozenset(self.random.sample(list(self.cluster.all), 2))
        self.cluster.bus.cuts.add(pair)

    def heal(self) -> None:
        self.cluster.bus.cuts.clear()

    def move(self) -> None:
        assignment = self.cluster.assignment
        if assignment.change or assignment.leaving or assignment.seeds:
            return
        if len(assignment.peers) == 1 or self.random.random() < 0.6:
            self.cluster.scale(*self.random.sample(list(self.cluster.all), 3), change="heal")
        else:
            names = [server.name for server in self.cluster.all.values() if server.me in assignment.peers]
            self.cluster.scale(self.random.choice(names))

    def doom(self) -> None:
        """Let the power go in the middle of what the disk will be asked for soon."""
        server = self.random.choice(list(self.cluster.all.values()))
        if server.running:
            server.disk.cut_after(self.random.randint(0, 60))

    def step(self, *, power: bool) -> None:
        what = self.random.random()
        if what < 0.45:
            self.publish()
        elif what < 0.55:
            self.fetch()
        elif what < 0.65:
            self.crash(power=power)
        elif what < 0.8:
            self.come_back()
        elif what < 0.84:
            self.cut()
        elif what < 0.9:
            self.heal()
        elif what < 0.95:
            self.move()
        elif power:
            self.doom()
        self.cluster.clock.advance(self.random.randint(1, 800) * MILLISECOND)

    def calm(self) -> list[tuple[int, str, bytes]]:
        self.heal()
        for server in self.cluster.all.values():
            server.disk.cut_after(None)
        for server in self.cluster.all.values():
            if not server.running:
                server.start()
        self.cluster.converge()
        self.cluster.run(3)  # what was still under way comes in, too
        return self.cluster.converge()


def verify(storm: Storm, found: list[tuple[int, str, bytes]]) -> None:
    there = {body.decode(): sequence for sequence, _, body in found}
    assert len(there) == len(found), "something came twice"
    while storm.cluster.fetch("C", 50):
        storm.cluster.run(1.5)
    assert storm.cluster.delivered >= {body for _, _, body in found}, "something was not delivered"
    for reply, body in storm.asked.items():
        answer = json.loads(storm.cluster.answers.get(reply, b"{}"))
        if "seq" in answer and "error" not in answer:
            assert there.get(body) == answer["seq"], f"{body} was acknowledged"


@seeds(4)
def test_nothing_acknowledged_gets_lost_in_a_storm(seed: int) -> None:
    storm = Storm(seed, "file")
    for _ in range(4):
        for _ in range(40):
            storm.step(power=seed % 2 == 0)
        verify(storm, storm.calm())
