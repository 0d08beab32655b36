"""Whole servers' groups under faults: crashes, cuts, refusing disks, lost disks; each seed its own run.

`test_raft` plays the core. Here the parts around it take part, too: writer, transport, proposals, snapshots,
bootstraps, incarnations and their replacement, and applications that need time for the entries they get.
"""

from __future__ import annotations

import errno
from functools import partial
from random import Random

from lib.cluster import Cluster, Member
from lib.examples import seeds
from pyjs.server.cluster.proposals import Outcome, ProposalLostError

NAMES = ("s0", "s1", "s2")
STEPS = 50


def started(member: Member) -> None:
    if not member.member:
        member.start()


class Scenario:
    """One seed."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.cluster = Cluster(*NAMES)
        self.acknowledged: list[str] = []
        self.lost: list[str] = []
        self.values = 0
        self.durable = self.random.random() < 0.4

    def run(self) -> None:
        cluster, random = self.cluster, self.random
        often = random.choice([0, 0.3, 0.8])
        for name in NAMES:
            cluster[name].compact_entries = random.choice([10, 30, 100])
            cluster[name].disk.forgets = True
            cluster[name].turn = random.choice([0, 0, 100_000, 3_000_000])
            cluster[name].rests = lambda: random.random() < often
        cluster.start()
        cluster.until(cluster.converged, 30)
        acts = [self.kill, self.kill, self.cut, self.heal, self.refuse, self.wipe, self.transfer, self.stick]
        for _ in range(STEPS):
            random.choice(acts)()
            for _ in range(random.randint(1, 6)):
                self.propose()
                cluster.run(random.choice([0.01, 0.1, 0.5]))
                self.keep()
        self.end()

    def propose(self) -> None:
        for member in self.cluster.members.values():
            if member.member is None or member.member.group is None or not member.group.ready:
                continue
            self.values += 1
            value = f"v{self.values}"

            def done(outcome: Outcome, value: str = value) -> None:
                if isinstance(outcome, int):
                    self.acknowledged.append(value)
                elif isinstance(outcome, ProposalLostError):
                    self.lost.append(value)

            member.group.propose([value.encode()], done)

    def keep(self) -> None:
        """Applications that are durable by themselves become so, now and then."""
        if self.durable:
            for member in self.up():
                group = member.member.group if member.member is not None else None
                whole = group is not None and group.node is not None and not member.tally.between
                if whole and self.random.random() < 0.3:
                    member.durable = (member.tally.index, list(member.tally.items))

    def up(self) -> list[Member]:
        return [member for member in self.cluster.members.values() if member.member is not None]

    def any(self) -> Member:
        return self.random.choice(self.up())

    # --- what happens

    def kill(self) -> None:
        for _ in range(self.random.choice([1, 1, 2, 3])):
            if self.up():
                member = self.any()
                member.kill(power=self.random.random() < 0.5)
                self.cluster.clock.call_later(int(self.random.random() * 3e9), partial(started, member))
        if not self.up():
            self.cluster.run(3)

    def cut(self) -> None:
        a, b = self.random.sample(NAMES, 2)
        self.cluster.bus.cuts.add(frozenset({a, b}))

    def heal(self) -> None:
        self.cluster.bus.cuts.clear()

    def refuse(self) -> None:
        disk = self.any().disk
        if self.random.random() < 0.3:
            disk.space = self.random.randint(0, 3000)
            self.cluster.clock.call_later(int(4e9), lambda: setattr(disk, "space", None))
        else:
            disk.fail(self.random.choice(["write", "sync", "rename", "sync_directory"]), errno.EIO)

    def wipe(self) -> None:
        """Only when everyone else is whole: more than a minority no protocol survives."""
        if len(self.up()) < 3 or not self.cluster.converged() or any(m.group.health() for m in self.up()):
            return
        member = self.any()
        member.kill()
        member.wipe()
        member.disk.forgets = True
        member.durable = (0, [])
        member.start()
        self.finish()
        self.cluster.until(self.cluster.converged, 120)

    def transfer(self) -> None:
        leader = self.cluster.leader()
        if leader is not None:
            leader.group.leadership.resign()

    def stick(self) -> None:
        member = self.any()
        member.executor.stuck = True
        executor = member.executor
        self.cluster.clock.call_later(int(self.random.random() * 7e9), executor.unstick)

    # --- the end

    def finish(self) -> None:
        """Nothing goes wrong from now on."""
        self.heal()
        for member in self.cluster.members.values():
            member.disk.space = None
            member.disk._failures.clear()
            if member.member is None:
                member.start()
            member.rests = lambda: False
            member.executor.unstick()

    def end(self) -> None:
        cluster = self.cluster
        cluster.run(8)
        self.finish()
        cluster.commit("last")
        cluster.until(cluster.converged, 120)
        items = cluster["s0"].tally.items
        assert items[-1] == "last"
        assert len(items) == len(set(items)), "something was applied twice"
        assert [value for value in self.acknowledged if value not in items] == [], "acknowledged and lost"
        assert [value for value in self.lost if value in items] == [], "said to be lost, and is not"
        assert len(self.acknowledged) > 10
        for name in NAMES:
            assert cluster[name].stop()
            assert not cluster[name].tally.between
        assert not any(member.disk.files for member in cluster.members.values())


@seeds(20)
def test_what_was_acknowledged_is_there(seed: int) -> None:
    Scenario(seed).run()
