"""One run: a cluster, publishers and workers on it, faults in rounds, and what they broke.

The seed decides which servers are affected, how and for how long. Processes and the network keep their own
time: a seed played again plays the same faults, but not every interleaving.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from lib.eventually import eventually
from lib.process import ServerProcess

from .faulty_cluster import FaultyCluster
from .findings import Findings, judge
from .publishers import Chain, Client, Publisher
from .values import BUCKET, JOBS, STREAM, SUBJECT, Outcome, Values
from .worker import Handled, Worker

RECOVERY_SECONDS = 90.0
LOOK = 0.02

# Causes a fault, yields how many seconds it lasts, continues; at its end everything is whole again.
Fault = Iterator[float]


@dataclass(frozen=True)
class Plan:
    """A kind of fault, and how it is played.

    play: called with the scenario and a number, which chooses the variant
    rounds: how many times it is played
    faulty: whether it needs disks that can fail
    reference: whether it can be played against the reference, too
    replicas: of the streams, 0 for one on each server
    """

    name: str
    about: str
    play: Callable[[Scenario, int], Fault]
    rounds: int
    faulty: bool = False
    reference: bool = True
    replicas: int = 0


@dataclass
class Report:
    """The result of a run. `slowest`: seconds from the end of a fault until every publisher had an ack."""

    plan: str
    size: int
    seed: int
    rounds: int
    sent: int
    acked: int
    refused: int
    unknown: int
    delivered: int
    slowest: float
    seconds: float
    findings: Findings


class Scenario:
    """One run; use `play` once. `rate`: values per second of each publisher."""

    def __init__(
        self,
        plan: Plan,
        *,
        implementation: str = "pyjs",
        size: int = 3,
        seed: int = 0,
        rate: float = 60.0,
        options: str = "",
        log: Callable[[str], None] = lambda _: None,
        keep: Path | None = None,
    ) -> None:
        self.plan = plan
        self.size = size
        self.replicas = plan.replicas or size
        self.seed = seed
        self.rate = rate
        self.rng = Random(f"{plan.name} {size} {seed}")
        self.log = log
        self.keep = keep
        self.values = Values()
        self.handled = [Handled(self.values, stream) for stream in (STREAM, JOBS)]
        self.clients: list[Publisher | Chain | Worker] = []
        self.slowest = 0.0
        self.begin = time.monotonic()
        self.cluster = FaultyCluster(implementation, size, seed=seed, faulty=plan.faulty, options=options)

    def play(self, rounds: int) -> Report:
        """Play so many rounds and judge. The servers end with it, and if it failed their files are kept."""
        findings: Findings | None = None
        try:
            self.cluster.make_streams(self.replicas)
            self._begin()
            self.recover(0)
            first = 1 if self.size == 3 else rounds + 1  # five servers continue with the variants
            for number in range(first, first + rounds):
                self._round(number)
            self._end()
            findings = judge(self.cluster, self.values, self.handled)
        finally:
            for client in self.clients:
                client.ending.set()
            if self.keep is not None and (findings is None or not findings.good):
                self.cluster.keep(self.keep / f"{self.plan.name}-{self.size}-{self.seed}")
            self.cluster.close()
        count = self.values.count
        return Report(
            plan=self.plan.name,
            size=self.size,
            seed=self.seed,
            rounds=rounds,
            sent=count(),
            acked=count(Outcome.ACKED),
            refused=count(Outcome.REFUSED),
            unknown=count(Outcome.UNKNOWN),
            delivered=sum(handled.deliveries for handled in self.handled),
            slowest=self.slowest,
            seconds=time.monotonic() - self.begin,
            findings=findings,
        )

    def _begin(self) -> None:
        servers, values = self.cluster.servers, self.values
        turn = [servers[number % self.size] for number in range(2 * self.size)]
        clients: list[Publisher | Chain | Worker] = [
            Publisher(f"p{number}", server, values, rate=self.rate) for number, server in enumerate(servers)
        ]
        clients += [Publisher(f"d{n}", turn[n], values, once=True, rate=self.rate) for n in range(2)]
        clients.append(Publisher("k0", turn[2], values, stream=BUCKET, rate=self.rate))
        clients.append(Publisher("j0", turn[3], values, stream=JOBS, rate=self.rate))
        for number in range(2):
            rng = Random(self.rng.random())
            clients.append(Chain(f"c{number}", turn[number + 1], values, f"{SUBJECT}.chain", rng))
        for handled in self.handled:
            name = f"w{handled.stream}"
            clients += [Worker(f"{name}{number}", turn[number], handled) for number in range(2)]
        self.clients = clients
        for client in clients:
            client.start()

    def _round(self, number: int) -> None:
        self.log(f"round {number}")
        for seconds in self.plan.play(self, number):
            self.hold(seconds)
        self.recover(number)

    def recover(self, number: int) -> None:
        """Wait until every publisher has had an ack that was given from now on."""
        begin = time.monotonic()
        before = {client: self._progress(client) for client in self.clients}

        def all_go_on() -> bool:
            return all(self._progress(client) > before[client] for client in self.publishers())

        try:
            eventually(all_go_on, RECOVERY_SECONDS)
        except AssertionError:
            stuck = [c.name for c in self.publishers() if self._progress(c) == before[c]]
            raise AssertionError(
                f"after round {number} no acknowledgement in {RECOVERY_SECONDS} s for {stuck}"
            ) from None
        if number:
            self.slowest = max(self.slowest, time.monotonic() - begin)

    def publishers(self) -> list[Publisher | Chain]:
        return [client for client in self.clients if not isinstance(client, Worker)]

    @staticmethod
    def _progress(client: Client) -> int:
        return client.acks if isinstance(client, (Publisher, Chain)) else 0

    def _end(self) -> None:
        for client in self.clients:
            client.ending.set()
        for client in self.clients:
            client.end()

    # --- for plans

    def hold(self, seconds: float) -> None:
        """Wait for a while."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(LOOK)

    def whole(self, seconds: float = RECOVERY_SECONDS) -> None:
        """Wait until every replica is current: one fault must be over before the next."""
        eventually(self.cluster.is_whole, seconds)

    def some(self, least: float, most: float) -> float:
        return self.rng.uniform(least, most)

    def pick(self, count: int) -> list[ServerProcess]:
        """Return random servers in a random order."""
        return self.rng.sample(self.cluster.servers, count)

    def others(self, servers: list[ServerProcess]) -> list[ServerProcess]:
        return [server for server in self.cluster.servers if server not in servers]

    @property
    def minority(self) -> int:
        return (self.size - 1) // 2

    @property
    def majority(self) -> int:
        return self.size // 2 + 1
