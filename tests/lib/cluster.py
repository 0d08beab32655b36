"""Servers of a cluster without sockets: Raft members on one fake clock, each with its own disk and executor.

A message arrives a millisecond after it was sent, unless it is `cut`; blocking work takes two.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from lib.fake_clock import FakeClock
from lib.fake_disk import FakeDisk
from lib.streams import PendingJob
from pyjs.protocol.identifier import name_hash
from pyjs.raft import RaftConfig
from pyjs.server.accounts.flusher import Flusher
from pyjs.server.clock import SECOND
from pyjs.server.cluster.bootstrap import BootstrapExpect
from pyjs.server.cluster.environment import CompactionThreshold, GroupEnvironment
from pyjs.server.cluster.member import RaftMember
from pyjs.server.cluster.membership_policy import MembershipPolicy
from pyjs.server.cluster.proposals import Outcome, ProposalError
from pyjs.server.cluster.raft_node import RaftNode
from pyjs.server.cluster.read_turn import ReadTurn
from pyjs.server.cluster.ticker import Ticker
from pyjs.server.cluster.transport import RaftTransport
from pyjs.server.slices import Steps

MILLISECOND = SECOND // 1000
TIMING = RaftConfig(heartbeat=2, election=6, keep=5)
FOLDER = "/store/cluster"
META = "meta"


class Note:
    """A message as a subscriber receives it."""

    def __init__(self, body: bytes) -> None:
        self.body = body


class Bus:
    """The system account of all servers."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.clients: list[BusClient] = []
        self.cuts: set[frozenset[str]] = set()
        self.largest = 0
        self.published = 0

    def publish(self, source: BusClient, subject: str, body: bytes) -> int:
        self.largest = max(self.largest, len(body))
        self.published += 1
        for client in self.clients:
            if frozenset({source.owner, client.owner}) not in self.cuts:
                self.clock.call_later(MILLISECOND, lambda client=client: client.take(subject, body))  # type: ignore[misc]
        return 1


class BusClient:
    """One server's end of the bus."""

    def __init__(self, bus: Bus, owner: str) -> None:
        self.bus = bus
        self.owner = owner
        self.reads: Flusher | None = None  # what is told of each message as of a read of a route
        self.subscriptions: list[tuple[str, Callable[[Any], None]]] = []
        bus.clients.append(self)

    def subscribe(self, subject: str, callback: Callable[[Any], None]) -> Any:
        self.subscriptions.append((subject, callback))
        return self.subscriptions[-1]

    def unsubscribe(self, subscription: Any) -> None:
        self.subscriptions.remove(subscription)

    def publish(self, subject: str, body: bytes) -> int:
        return self.bus.publish(self, subject, body)

    def take(self, subject: str, body: bytes) -> None:
        if self.reads is not None:
            self.read(id(self), lambda: self.hand_over(subject, body))
        else:
            self.hand_over(subject, body)

    def read(self, connection: int, serve: Callable[[], None]) -> None:
        """Serve something as what one read of a connection brought."""
        reads = self.reads
        assert reads is not None
        reads.begin_read(connection, self.bus.clock.now())
        serve()
        reads.end_read()
        reads.reading = False

    def hand_over(self, subject: str, body: bytes) -> None:
        for wanted, callback in list(self.subscriptions):
            if wanted == subject:
                callback(Note(body))


class ClockExecutor:
    """An executor on the fake clock, until its process is killed. `turn`: ns of a turn of its loop."""

    def __init__(self, clock: FakeClock, turn: int = 0) -> None:
        self.clock = clock
        self.turn = turn
        self.dead = False
        self.stuck = False
        self.under_way = 0
        self.stuck_jobs: list[Callable[[], None]] = []

    def soon(self, callback: Callable[[], None]) -> None:
        self.clock.call_later(self.turn, lambda: None if self.dead else callback())

    def work(self, job: Callable[[], object], done: Callable[[BaseException | None], None]) -> PendingJob:
        self.under_way += 1
        pending = PendingJob(job, done)

        def run() -> None:
            if self.dead:
                return
            if self.stuck:
                self.stuck_jobs.append(run)
                return
            self.under_way -= 1
            pending.finish()

        self.clock.call_later(2 * MILLISECOND, run)
        return pending

    def unstick(self) -> None:
        self.stuck = False
        jobs, self.stuck_jobs = self.stuck_jobs, []
        for run in jobs:
            run()


class Lines:
    """A log that remembers its lines."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def __getattr__(self, level: str) -> Callable[[str], None]:
        return lambda text, *rest: self.lines.append(f"{level}: {text}")


class Tally:
    """The replicated list.

    durable: (applied, list) that it finds on its disk when it starts
    rests: called while it applies; whether it rests now
    between: whether it is in the middle of applying
    """

    def __init__(
        self, durable: tuple[int, list[str]] = (0, []), rests: Callable[[], bool] = lambda: False
    ) -> None:
        self.durable_index, items = durable
        self.rests = rests
        self.between = False
        self.items = list(items)
        self.index = self.durable_index
        self.broken = False
        self.restored = 0

    def apply(self, entries: Sequence[tuple[int, bytes]], upto: int) -> Steps[None]:
        if self.broken:
            raise ValueError("it cannot be")
        assert not self.between, "it has not taken in what it was given before"
        return self._applying(entries, upto)

    def _applying(self, entries: Sequence[tuple[int, bytes]], upto: int) -> Steps[None]:
        self.between = True
        for index, data in entries:
            assert index > self.index, "an entry came twice"
            self.index = index
            while self.rests():
                yield
            if data == b"unheard of":
                raise ValueError("it cannot be")
            self.items.append(data.decode())
        self.index = upto
        self.between = False

    def snapshot(self) -> tuple[int, bytes] | None:
        assert not self.between, "a snapshot of half of an entry"
        return self.index, json.dumps(self.items).encode()

    def restore(self, data: bytes, index: int) -> None:
        assert not self.between, "a snapshot in the middle of an entry"
        self.restored += 1
        self.index = index
        self.items = json.loads(data)


class Owner:
    """Records the calls of a group's member."""

    def __init__(self) -> None:
        self.news: list[str] = []

    def leading(self, applied: int) -> None:
        self.news.append("leading")

    def following(self) -> None:
        self.news.append("following")

    def leader_changed(self, leader: str) -> None:
        self.news.append(f"leader {leader}")

    def failed(self, why: str, *, restarts: bool) -> None:
        self.news.append("failed")


class Member:
    """One server: `start`, `kill`, `stop`. Its disk stays until `wipe`."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self.cluster = cluster
        self.name = name
        self.node = name_hash(name)
        self.disk = FakeDisk()
        self.disk.make_directory(FOLDER)
        self.member: RaftMember | None = None
        self.log = Lines()
        self.owner = Owner()
        self.applications: list[Tally] = []
        self.durable: tuple[int, list[str]] = (0, [])
        self.compact_entries = 50
        self.compaction = CompactionThreshold()
        self.others: tuple[str, ...] | None = None
        self.prepared = 0
        self.turn = 0  # see `ClockExecutor`
        self.rests: Callable[[], bool] = lambda: False  # see `Tally`
        self.reads = False  # whether its groups know what a read has brought

    def start(self) -> Member:
        cluster = self.cluster
        random = Random(next(cluster.seeds))
        self.executor = ClockExecutor(cluster.clock, self.turn)
        self.client = BusClient(cluster.bus, self.name)
        self.ticker = Ticker(cluster.clock)
        self.client.reads = Flusher(cluster.clock) if self.reads else None
        turn = ReadTurn(self.executor, self.client.reads)
        self.transport = RaftTransport(
            self.node, self.client, self.executor, self.ticker, turn=turn, piece_bytes=400
        )
        self.transport.start()
        environment = GroupEnvironment(
            name=self.name,
            server=f"S{next(cluster.seeds)}",
            node=self.node,
            domain="",
            path=FOLDER,
            transport=self.transport,
            executor=self.executor,
            ticker=self.ticker,
            clock=cluster.clock,
            fs=self.disk,
            log=self.log,
            random_bytes=random.randbytes,
            timing=TIMING,
            compact_entries=self.compact_entries,
            compaction=self.compaction,
        )
        policy = MembershipPolicy(self._expected)
        self.member = RaftMember(
            META, environment, self._application, self.owner, policy, prepare=self._prepare
        )
        self.member.start()
        return self

    def _prepare(self) -> None:
        """Stands for work that depends on what is stored; a worker does it, once for each application."""
        self.prepared += 1

    def _application(self) -> Tally:
        assert self.prepared == len(self.applications) + 1
        self.applications.append(Tally(self.durable, lambda: self.rests()))
        return self.applications[-1]

    def _expected(self) -> BootstrapExpect:
        names = self.others if self.others is not None else tuple(self.cluster.members)
        return BootstrapExpect(nodes=frozenset(name_hash(name) for name in names))

    def kill(self, *, power: bool = False) -> None:
        self.executor.dead = True
        self.ticker.remove(self.member._tick)  # type: ignore[union-attr]
        self.cluster.bus.clients.remove(self.client)
        self.member = None
        if power:
            self.disk.crash(lambda most: 0)
        else:
            self.disk.kill()

    def stop(self) -> bool:
        """Stop in good order; return whether it came to its end."""
        over: list[bool] = []
        assert self.member is not None
        self.member.stop(lambda: over.append(True))
        self.cluster.run(0.1)
        self.transport.stop()
        self.cluster.bus.clients.remove(self.client)
        self.member = None
        return bool(over)

    def wipe(self) -> None:
        self.disk = FakeDisk()
        self.disk.make_directory(FOLDER)

    @property
    def group(self) -> RaftNode:
        assert self.member is not None and self.member.group is not None
        return self.member.group

    @property
    def tally(self) -> Tally:
        return self.applications[-1]


class Cluster:
    """Members by name."""

    def __init__(self, *names: str) -> None:
        self.clock = FakeClock()
        self.seeds = itertools.count(1)
        self.bus = Bus(self.clock)
        self.members: dict[str, Member] = {}
        for name in names:
            self.members[name] = Member(self, name)

    def __getitem__(self, name: str) -> Member:
        return self.members[name]

    def start(self, *names: str) -> Cluster:
        for name in names or self.members:
            self.members[name].start()
        return self

    def run(self, seconds: float) -> None:
        self.clock.advance(int(seconds * SECOND))

    def until(self, condition: Callable[[], object], seconds: float = 60.0) -> float:
        """Advance time until a condition is true; return how many seconds that took."""
        begin = self.clock.now()
        while not condition():
            assert self.clock.now() - begin < seconds * SECOND, "it never came to that: " + self.recent_log()
            self.clock.advance(10 * MILLISECOND)
        return (self.clock.now() - begin) / SECOND

    def recent_log(self) -> str:
        return "\n".join(f"{m.name}: {line}" for m in self.members.values() for line in m.log.lines[-8:])

    def leader(self) -> Member | None:
        for member in self.members.values():
            if member.member is not None and member.member.group is not None and member.member.group.ready:
                return member
        return None

    def led(self) -> Member:
        self.until(self.leader)
        leader = self.leader()
        assert leader is not None
        return leader

    def propose(self, *items: str) -> list[Outcome]:
        """Propose each item by itself at the leader; return the list of outcomes, which fills later."""
        outcomes: list[Outcome] = []
        for item in items:
            self.led().group.propose([item.encode()], outcomes.append)
        return outcomes

    def commit(self, *items: str) -> None:
        """Propose until all items are committed, whoever leads."""
        for item in items:
            while True:
                outcomes = self.propose(item)
                self.until(lambda outcomes=outcomes: outcomes)  # type: ignore[misc]
                if not isinstance(outcomes[0], ProposalError):
                    break

    def converged(self, *names: str, voters: int | None = None) -> bool:
        """Return whether these have the same state and configuration, and there are no learners left."""
        chosen = [self.members[name] for name in names or self.members]
        if any(m.member is None or m.member.group is None or m.group.node is None for m in chosen):
            return False
        members = chosen[0].group.members
        return (
            self.leader() is not None
            and len({m.group.applied for m in chosen}) == 1
            and len({tuple(m.tally.items) for m in chosen}) == 1
            and all(m.group.members == members for m in chosen)
            and not members.learners
            and len(members.voters) == (voters or len(chosen))
        )
