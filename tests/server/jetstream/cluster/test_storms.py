"""Servers that crash, lose power, are cut off and get other peers at random: what was acknowledged stays."""

from __future__ import annotations

import json
import os
from random import Random

import pytest
from lib.cluster import MILLISECOND
from lib.stream_cluster import Sites

SEEDS = range(int(os.environ.get("STORMS", "6")))


class Storm:
    """Some minutes of failures. asked: what was published, by the subject of its answer."""

    def __init__(self, seed: int, storage: str) -> None:
        self.random = Random(seed)
        self.sites = Sites("one", "two", "three", "four", compact_entries=self.random.choice((3, 20, 200)))
        self.sites.choose = lambda most: self.random.randint(0, most)
        self.sites.start()
        self.asked: dict[str, str] = {}
        self.number = 0
        self.sites.create("one", "two", "three", storage=storage)
        self.sites.consumer("C", ack_wait=1_000_000_000)

    def publish(self) -> None:
        leading = [site for site in self.sites.all.values() if site.leads()]
        for _ in range(self.random.randint(1, 5)):
            if leading:
                self.number += 1
                self.asked[self.sites.publish(f"<{self.number}>")] = f"<{self.number}>"

    def crash(self, *, power: bool) -> None:
        running = [site for site in self.sites.all.values() if site.running]
        if not running:
            return
        site = self.random.choice(running)
        if self.random.random() < 0.3:
            site.stop()
            return
        site.kill(self.sites.choose if power else None)

    def fetch(self) -> None:
        if any(site.leads() for site in self.sites.all.values()):
            self.sites.fetch("C", self.random.randint(1, 9))

    def come_back(self) -> None:
        for site in self.sites.all.values():
            if not site.running and self.random.random() < 0.5:
                site.start()

    def cut(self) -> None:
        pair = frozenset(self.random.sample(list(self.sites.all), 2))
        self.sites.bus.cuts.add(pair)

    def heal(self) -> None:
        self.sites.bus.cuts.clear()

    def move(self) -> None:
        assignment = self.sites.assignment
        if assignment.change or assignment.leaving or assignment.seeds:
            return
        if len(assignment.peers) == 1 or self.random.random() < 0.6:
            self.sites.scale(*self.random.sample(list(self.sites.all), 3), change="heal")
        else:
            names = [site.name for site in self.sites.all.values() if site.me in assignment.peers]
            self.sites.scale(self.random.choice(names))

    def doom(self) -> None:
        """Let the power go in the middle of what the disk will be asked for soon."""
        site = self.random.choice(list(self.sites.all.values()))
        if site.running:
            site.disk.cut_after(self.random.randint(0, 60))

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
        self.sites.clock.advance(self.random.randint(1, 800) * MILLISECOND)

    def calm(self) -> list[tuple[int, str, bytes]]:
        self.heal()
        for site in self.sites.all.values():
            site.disk.cut_after(None)
        for site in self.sites.all.values():
            if not site.running:
                site.start()
        self.sites.settle()
        self.sites.run(3)  # what was still under way comes in, too
        return self.sites.settle()


def verify(storm: Storm, found: list[tuple[int, str, bytes]]) -> None:
    there = {body.decode(): sequence for sequence, _, body in found}
    assert len(there) == len(found), "something came twice"
    while storm.sites.fetch("C", 50):
        storm.sites.run(1.5)
    assert storm.sites.delivered >= {body for _, _, body in found}, "something was not delivered"
    for reply, body in storm.asked.items():
        answer = json.loads(storm.sites.answers.get(reply, b"{}"))
        if "seq" in answer and "error" not in answer:
            assert there.get(body) == answer["seq"], f"{body} was acknowledged"


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_acknowledged_gets_lost_in_a_storm(seed: int) -> None:
    storm = Storm(seed, "file")
    for _ in range(4):
        for _ in range(40):
            storm.step(power=seed % 2 == 0)
        verify(storm, storm.calm())
