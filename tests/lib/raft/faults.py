"""What goes wrong in a simulated group, at random: crashes, power cuts, damage, full disks, partitions.

Damage that a member cannot repair by itself (flipped bits, cut or lost files) is done to so few at a time
that a majority is whole: no protocol survives more than that.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from typing import TYPE_CHECKING

from lib.raft.machine import PATH, Machine
from pyjs.raft import Members, MembersError

if TYPE_CHECKING:
    from lib.raft.simulation import Simulation


class FaultInjector:
    """Causes a fault every now and then until `end`."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._over = False
        self.last_proposal: bytes | None = None
        random = simulation.random
        acts: list[tuple[float, Callable[[], None]]] = [
            (3.0, self._crash),
            (2.0, self._cut_power_in_a_write),
            (2.0, self._partition),
            (2.0, self._heal_network),
            (1.0, self._worse_network),
            (1.0, self._disk_fault),
            (1.0, self._damage),
            (1.0, self._transfer),
            (1.0, self._change_members),
            (0.5, self._crash_all),
        ]
        # Each run is different: some acts never happen in it.
        self._acts = [act for weight, act in acts if random.random() < 0.8]
        self._weights = [weight for weight, act in acts if act in self._acts]
        self._interval = random.choice([60, 150, 400])

    def begin(self) -> None:
        """Start causing faults."""
        if self._acts:
            self._simulation.later(self._simulation.random.randint(100, 300), self._act)

    def end(self) -> None:
        """Cause no more faults, and cancel those that are still to come."""
        self._over = True
        for machine in self._simulation.machines.values():
            machine.disk._failures.clear()
            machine.disk._left = None

    def _act(self) -> None:
        if self._over:
            return
        random = self._simulation.random
        random.choices(self._acts, self._weights)[0]()
        self._simulation.later(random.randint(1, 2 * self._interval), self._act)

    def _any(self) -> Machine | None:
        running = [m for m in self._simulation.machines.values() if m.node is not None]
        leader = self._simulation.leader()
        if leader is not None and self._simulation.random.random() < 0.4:
            return leader
        return self._simulation.random.choice(running) if running else None

    # --- processes

    def _crash(self) -> None:
        machine = self._any()
        if machine is not None:
            machine.kill(power=self._simulation.random.random() < 0.5)
            self._simulation.restart_later(machine)

    def _crash_all(self) -> None:
        for machine in list(self._simulation.machines.values()):
            if machine.node is not None:
                machine.kill(power=self._simulation.random.random() < 0.7)
                self._simulation.restart_later(machine)

    def _cut_power_in_a_write(self) -> None:
        machine = self._any()
        if machine is not None:
            machine.disk.cut_after(self._simulation.random.randint(0, 8))

    # --- disks

    def _disk_fault(self) -> None:
        machine = self._any()
        if machine is None or not self._can_spare(machine):
            return
        random = self._simulation.random
        what = random.choice(["write", "sync", "full"])
        self._simulation.say(machine.name, f"disk: {what}")
        if what == "full":
            machine.disk.space = random.randint(0, 200)
        else:
            machine.disk.fail(what, errno.EIO)

    def _damage(self) -> None:
        """Kill the process and damage its files, so that the disk does not return what was written."""
        machine = self._any()
        if machine is None or not self._can_spare(machine):
            return
        random = self._simulation.random
        machine.kill(power=False)
        machine.hurt = True
        files = sorted(name for name in machine.disk.seen if name.startswith(PATH))
        path = random.choice(files)
        data = machine.disk.seen[path].seen
        how = random.choice(["flip", "cut", "lose", "lose all"])
        self._simulation.say(machine.name, f"damage: {how} {path} ({len(data)} bytes)")
        if how == "flip" and data:
            machine.disk.flip(path, random.randrange(len(data)), 1 << random.randrange(8))
        elif how == "cut" and data:
            keep = random.choice([len(data) - 1, len(data) // 2, 0])
            del data[keep:]
            machine.disk.seen[path].safe = bytes(data)
        elif how == "lose":
            machine.disk.remove(path)
            machine.disk.sync_directory(PATH)
        else:
            machine.disk.remove_tree(PATH)
            machine.disk.make_directory(PATH)
            machine.disk.sync_directory(PATH)
        self._simulation.restart_later(machine)

    def _can_spare(self, machine: Machine) -> bool:
        """Return whether a majority stays whole without this one, in every configuration that may count."""
        simulation = self._simulation
        for members in [each.members for each in simulation.machines.values() if each.members.voters]:
            whole = [
                name
                for name in members.voters
                if name in simulation.machines and simulation.machines[name].vouching and name != machine.name
            ]
            if len(whole) < members.quorum:
                return False
        return True

    def _survives(self, members: Members) -> bool:
        """Return whether a majority of these is whole: to remove others is an operator's mistake."""
        machines = self._simulation.machines
        whole = [name for name in members.voters if name in machines and machines[name].vouching]
        return len(whole) >= members.quorum

    # --- the network

    def _partition(self) -> None:
        simulation = self._simulation
        names = list(simulation.machines)
        some = set(simulation.random.sample(names, simulation.random.randint(1, len(names) - 1)))
        one_way = simulation.random.random() < 0.3
        simulation.say("network", f"cuts {sorted(some)} off{' one way' if one_way else ''}")
        simulation.network.partition(some, one_way=one_way)

    def _heal_network(self) -> None:
        self._simulation.say("network", "heals the network")
        self._simulation.network.heal()

    def _worse_network(self) -> None:
        random, network = self._simulation.random, self._simulation.network
        network.loss = random.choice([0.0, 0.05, 0.3])
        network.doubles = random.choice([0.0, 0.1])
        network.slowest = random.choice([3, 30, 120])

    # --- the group

    def _transfer(self) -> None:
        leader = self._simulation.leader()
        if leader is None or leader.node is None:
            return
        others = sorted(leader.node.members.voters - {leader.name})
        if others and not leader.node.role.lead_transferee:  # type: ignore[union-attr]
            leader.node.transfer(self._simulation.random.choice(others))
            leader.pump()

    def _change_members(self) -> None:
        """Replace a member that can never come back; else add or remove one."""
        simulation = self._simulation
        leader = simulation.leader()
        if leader is None or leader.node is None or simulation.refused(leader.node):
            return
        members = leader.node.members
        gone = sorted(
            n for n in members.voters if n not in simulation.machines or simulation.machines[n].broken
        )
        if gone:
            new = Members.of(members.voters - {gone[0]}, members.learners)
        elif members.learners:
            one = min(members.learners)
            if not simulation.machines[one].vouching:
                return
            new = Members.of(members.voters | {one}, members.learners - {one})
        elif len(members.voters) < 5 and simulation.random.random() < 0.6:
            name = simulation.new_name()
            machine = simulation.machines[name] = Machine(name, simulation)
            machine.create(Members.of(()))
            machine.boot()
            new = Members.of(members.voters, {name})
        elif len(members.voters) > 3:
            new = Members.of(members.voters - {simulation.random.choice(sorted(members.voters))})
        else:
            return
        if not self._survives(new):
            return
        try:
            leader.node.change_members(new)
        except MembersError:
            return
        simulation.say(leader.name, f"members: {sorted(new.voters)} {sorted(new.learners)}")
        leader.pump()
