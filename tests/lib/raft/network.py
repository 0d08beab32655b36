"""The network between simulated members: it loses, duplicates, delays, reorders and cuts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyjs.raft import RaftMessage

if TYPE_CHECKING:
    from lib.raft.simulation import Simulation


class Network:
    """The network. `cuts`: (source, to) pairs that do not reach each other, in this direction."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self.cuts: set[tuple[str, str]] = set()
        self.loss = 0.0
        self.doubles = 0.0
        self.slowest = 3

    def send(self, message: RaftMessage) -> None:
        """Deliver a message later, perhaps."""
        random = self._simulation.random
        for _ in range(2 if random.random() < self.doubles else 1):
            if random.random() >= self.loss:
                self._simulation.later(random.randint(1, self.slowest), lambda: self._deliver(message))

    def _deliver(self, message: RaftMessage) -> None:
        machine = self._simulation.machines.get(message.to)
        if machine is not None and (message.source, message.to) not in self.cuts:
            machine.receive(message)

    def partition(self, some: set[str], *, one_way: bool) -> None:
        """Cut `some` off from the others."""
        others = set(self._simulation.machines) - some
        self.cuts = {(a, b) for a in some for b in others}
        if not one_way:
            self.cuts |= {(b, a) for a, b in self.cuts}

    def heal(self) -> None:
        """Let everything through, eventually."""
        self.cuts = set()
        self.loss = self.doubles = 0.0
        self.slowest = 3
