"""Servers of a cluster that hold streams, without sockets: one fake clock, a fake disk for each.

Decisions of the meta group are made at once and the same for all (`decide`); a server that is down learns of
them when it starts. Everything else is real: reconcilers, local streams, groups, replicas.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable
from random import Random
from typing import Any

from lib.cluster import MILLISECOND, TIMING, Bus, BusClient, Lines
from lib.fake_clock import FakeClock, FakeTimer
from lib.fake_disk import FakeDisk, PowerCut
from lib.streams import PendingJob
from pyjs.protocol.api.consumer import ConsumerConfig
from pyjs.protocol.api.stream import StreamConfig
from pyjs.protocol.identifier import name_hash
from pyjs.server.accounts.account import Account
from pyjs.server.accounts.flusher import Flusher
from pyjs.server.clock import SECOND
from pyjs.server.cluster.environment import GroupEnvironment
from pyjs.server.cluster.ticker import Ticker
from pyjs.server.cluster.transport import RaftTransport
from pyjs.server.config.options import AccountJetStream
from pyjs.server.jetstream.account.account import JetStreamAccount
from pyjs.server.jetstream.cluster.local_info import LocalStreamContext
from pyjs.server.jetstream.cluster.local_stream import LocalStream
from pyjs.server.jetstream.cluster.reconciler import Reconciler
from pyjs.server.jetstream.consumers import lifecycle
from pyjs.server.jetstream.consumers.config import check as check_consumer
from pyjs.server.jetstream.consumers.info import stamped
from pyjs.server.jetstream.host import JetStreamHost
from pyjs.server.jetstream.meta.apply import apply
from pyjs.server.jetstream.meta.assignment import StreamAssignment
from pyjs.server.jetstream.meta.command import (
    Command,
    CreateStream,
    DeleteStream,
    PutConsumer,
    PutServer,
    UpdateStream,
    encode,
)
from pyjs.server.jetstream.meta.effect import Effect
from pyjs.server.jetstream.meta.node_info import NodeInfo as Record
from pyjs.server.jetstream.meta.node_info import NodeStatus
from pyjs.server.jetstream.meta.reconcile import actions_for, at_start
from pyjs.server.jetstream.meta.responder import LeaderStatus
from pyjs.server.jetstream.meta.state import MetaState
from pyjs.server.jetstream.quota import Quota
from pyjs.server.jetstream.streams.validation.config import check
from pyjs.server.jetstream.streams.validation.context import ValidationContext
from pyjs.store.configs import Storage

NAMES = ("one", "two", "three")
STREAM = "S"
ACCOUNT = "A"
Done = Callable[[BaseException | None], None]


class ProcessClock:
    """The clock as one process sees it: no timer fires after its end; `lost` is called at a power cut."""

    def __init__(self, clock: FakeClock, lost: Callable[[], None]) -> None:
        self.clock = clock
        self.lost = lost
        self.dead = False

    def now(self) -> int:
        return self.clock.now()

    def call_later(self, delay: int, callback: Callable[[], None]) -> FakeTimer:
        return self.clock.call_later(delay, lambda: self.run(callback))

    def soon(self, callback: Callable[[], None]) -> FakeTimer:
        return self.call_later(0, callback)

    def run(self, callback: Callable[[], None]) -> None:
        """Run a callback in the process, unless it has ended; a power cut in it ends the process."""
        if not self.dead:
            try:
                callback()
            except PowerCut:
                self.lost()


class ProcessBusClient(BusClient):
    """The bus client of one process."""

    def __init__(self, bus: Bus, owner: str, clock: ProcessClock) -> None:
        super().__init__(bus, owner)
        self.clock = clock

    def take(self, subject: str, body: bytes) -> None:
        self.clock.run(lambda: super(ProcessBusClient, self).take(subject, body))


def drop(_: object) -> None:
    """Ignore a result."""


class Workers:
    """A runner whose work takes two milliseconds; a caller that waits for it has it done at once."""

    def __init__(self, clock: ProcessClock) -> None:
        self.clock = clock

    def soon(self, callback: Callable[[], None]) -> None:
        self.clock.call_later(0, callback)

    def work(self, job: Callable[[], object], done: Done) -> PendingJob:
        made = PendingJob(job, done)
        self.clock.call_later(2 * MILLISECOND, made.finish)
        return made


class StreamServer:
    """One server, and the `MetaView` of its streams.

    lost: while it is a list, it gets what streams forward to the meta leader, which does not get it
    away: whether the hub that it is a leaf node of is away, so that it should not lead
    """

    def __init__(self, cluster: StreamCluster, name: str) -> None:
        self.cluster = cluster
        self.name = name
        self.node = name_hash(name)
        self.me = f"{self.node}-1"
        self.disk = FakeDisk()
        self.running = False
        self.log = Lines()
        self.up: list[tuple[str, str]] = []
        self.lost: list[Command] | None = None
        self.away = False

    # MetaView

    @property
    def state(self) -> MetaState:
        return self.cluster.state

    @property
    def node_statuses(self) -> dict[str, NodeStatus]:
        return {server.me: NodeStatus(server.running, True) for server in self.cluster.all.values()}

    @property
    def leader_status(self) -> LeaderStatus:
        return LeaderStatus("somebody", 0, True)

    def member(self, node: str) -> str:
        return next((server.me for server in self.cluster.all.values() if server.node == node), "")

    def forward(self, command: Command) -> None:
        if self.lost is not None:
            self.lost.append(command)
            return
        self.clock.call_later(MILLISECOND, lambda: drop(self.cluster.decide(command)))

    def announce(self, key: tuple[str, str, str], info: dict[str, Any]) -> None:
        del info
        _, stream, consumer = key
        self.up.append((stream, consumer))

    # start and stop

    def start(self) -> None:
        clock = self.clock = ProcessClock(self.cluster.clock, lambda: self.kill(self.cluster.choose))
        runner = Workers(clock)
        random = Random(next(self.cluster.seeds))
        self.bus_client = ProcessBusClient(self.cluster.bus, self.name, clock)
        ticker = Ticker(clock)
        self.transport = RaftTransport(self.node, self.bus_client, runner, ticker)
        self.transport.start()
        self.environment = GroupEnvironment(
            name=self.name,
            server=f"S{next(self.cluster.seeds)}",
            node=self.node,
            domain="",
            path="/store/cluster",
            transport=self.transport,
            executor=runner,
            ticker=ticker,
            clock=clock,
            fs=self.disk,
            log=self.log,
            random_bytes=random.randbytes,
            timing=TIMING,
            compact_entries=self.cluster.compact_entries,
        )
        flusher = Flusher(clock)
        self.system, self.account = Account("SYS", flusher), Account(ACCOUNT, flusher)
        self.advisories: list[tuple[str, Any]] = []
        self.system.subscribe(">", lambda message: self.advisories.append((message.subject, message.body)))
        host = JetStreamHost(clock=clock, executor=runner, server_name=self.name, log=self.log)
        directory = Storage("/store", fs=self.disk).account(ACCOUNT)
        grants = {"": AccountJetStream()}
        self.jetstream = JetStreamAccount(self.account, host, directory, grants, Quota(), Quota())
        context = LocalStreamContext(
            self.environment, self.system, self, self.forward, self.announce, lambda _: self.away
        )
        self.reconciler = Reconciler(context, {ACCOUNT: self.jetstream}, {}, {})
        self.running = True
        clock.run(self._begin)

    def _begin(self) -> None:
        self.reconciler.begin(at_start(self.state, self.reconciler.inventory([self.jetstream]), self.me))

    def kill(self, choose: Callable[[int], int] | None = None) -> None:
        """End the process; with `choose` the power is cut, too."""
        self.clock.dead = True
        self.running = False
        self.cluster.bus.clients.remove(self.bus_client)
        if choose is None:
            self.disk.kill()
        else:
            self.disk.crash(choose)

    def stop(self) -> None:
        """End the process in good order."""
        over: list[bool] = []
        self.clock.run(lambda: self.reconciler.stop(lambda: over.append(True)))
        self.cluster.until(lambda: over or not self.running)
        if self.running:
            self.kill()

    @property
    def local(self) -> LocalStream | None:
        return self.reconciler.local_streams.get((ACCOUNT, STREAM))

    def leads(self) -> bool:
        return self.running and self.local is not None and self.local.leads()

    def contents(self) -> list[tuple[int, str, bytes]]:
        """Return (sequence, subject, body) of each message here."""
        assert self.local is not None and self.local.stream is not None
        store = self.local.stream.store
        found, message = [], store.next((), 1)
        while message is not None:
            found.append((message.seq, message.subject, message.body))
            message = store.next((), message.seq + 1)
        return found


def texts(numbers: range) -> list[str]:
    """Return bodies to publish, one for each number."""
    return [f"m{number}" for number in numbers]


class StreamCluster:
    """Servers by name; `state` is what all of them applied."""

    def __init__(self, *names: str, compact_entries: int = 20) -> None:
        self.clock = FakeClock()
        self.choose: Callable[[int], int] = lambda most: 0  # what a power cut leaves, see FakeDisk
        self.seeds = itertools.count(1)
        self.bus = Bus(self.clock)
        self.state = MetaState()
        self.compact_entries = compact_entries
        self.groups = itertools.count(1)
        self.all = {name: StreamServer(self, name) for name in names or NAMES}
        for server in self.all.values():
            self.decide(PutServer(Record(server.me, server.name)))
        self.answers: dict[str, bytes] = {}
        self.delivered: set[bytes] = set()
        self.numbers = itertools.count(1)

    def __getitem__(self, name: str) -> StreamServer:
        return self.all[name]

    def start(self, *names: str) -> StreamCluster:
        for name in names or self.all:
            self.all[name].start()
        return self

    # decisions

    def decide(self, command: Command) -> list[Effect]:
        effects = apply(self.state, self.state.index + 1, encode(command))
        for effect in effects:
            for server in self.all.values():
                for action in actions_for(self.state, effect, server.me) if server.running else ():
                    server.clock.run(lambda server=server, action=action: server.reconciler.do(action))  # type: ignore[misc]
        return effects

    def _ids(self, names: Iterable[str]) -> tuple[str, ...]:
        return tuple(self.all[name].me for name in names)

    def create(self, *names: str, **config: Any) -> StreamAssignment:
        """Create the stream `S` on these servers."""
        names = names or tuple(self.all)
        wanted = {"name": STREAM, "subjects": ["s.>"], "num_replicas": len(names), **config}
        checked = check(
            StreamConfig.from_json(wanted), ValidationContext(lookup=lambda _: None, clustered=True)
        )
        command = CreateStream(
            ACCOUNT, checked.to_json(), f"G{next(self.groups)}", "C", self._ids(names), self.clock.now()
        )
        self.decide(command)
        return self.assignment

    @property
    def assignment(self) -> StreamAssignment:
        found = self.state.stream(ACCOUNT, STREAM)
        assert found is not None
        return found

    def scale(self, *names: str, change: str = "scale", **config: Any) -> None:
        """Give the stream other servers, or another configuration."""
        before = self.assignment
        wanted = {**before.config, "num_replicas": len(names), **config}
        group = "" if before.replicated else f"G{next(self.groups)}"
        self.decide(
            UpdateStream(ACCOUNT, wanted, peers=self._ids(names), group=group, cluster="C", change=change)
        )

    def configure(self, **config: Any) -> None:
        self.decide(UpdateStream(ACCOUNT, {**self.assignment.config, **config}))

    def delete(self) -> None:
        self.decide(DeleteStream(ACCOUNT, STREAM))

    def consumer(self, name: str, **config: Any) -> None:
        wanted = stamped(ConsumerConfig.from_json({"durable_name": name, "ack_policy": "explicit", **config}))
        stream = StreamConfig.from_json(self.assignment.config)
        account = next(server.jetstream for server in self.all.values() if server.running)
        checked = check_consumer(
            wanted, stream, lifecycle.bounds(account.host, account.limits.of(stream.num_replicas))
        )
        self.decide(PutConsumer(ACCOUNT, STREAM, name, checked.to_json(), created=self.clock.now()))

    # time

    def run(self, seconds: float) -> None:
        self.clock.advance(int(seconds * SECOND))

    def until(self, condition: Callable[[], object], seconds: float = 60.0) -> None:
        end = self.clock.now() + int(seconds * SECOND)
        while not condition():
            assert self.clock.now() < end, "it never came to that: " + self.story()
            self.clock.advance(10 * MILLISECOND)

    def story(self) -> str:
        return "\n".join(
            f"{server.name}: {line}" for server in self.all.values() for line in server.log.lines[-9:]
        )

    def leader(self) -> StreamServer:
        self.until(lambda: any(server.leads() for server in self.all.values()))
        return next(server for server in self.all.values() if server.leads())

    def converged(self) -> bool:
        """Return whether the stream is where it must be, and the same everywhere."""
        assignment = self.assignment
        if assignment.seeds or assignment.change or assignment.leaving:
            return False
        servers = [server for server in self.all.values() if server.me in assignment.peers]
        if not all(server.running and server.local is not None and server.local.stream for server in servers):
            return False
        if sum(server.leads() for server in servers) != 1:
            return False
        streams = [server.local for server in servers if server.local is not None]
        if len(servers) > 1 and any(
            one.membership is None or one.membership.local.catching_up for one in streams
        ):
            return False
        stores = [one.stream.store for one in streams if one.stream]
        return len({(store.first_seq, store.last_seq, store.messages, store.bytes) for store in stores}) == 1

    def converge(self) -> list[tuple[int, str, bytes]]:
        """Wait until it has converged; return the messages, which are the same everywhere."""
        self.until(self.converged, 120)
        found = self.leader().contents()
        for server in self.all.values():
            if server.me in self.assignment.peers:
                assert server.contents() == found
        return found

    # clients

    def publish(self, body: str, subject: str = "s.a", header: bytes = b"") -> str:
        """Publish once to the present leader; return the subject of its answer in `answers`."""
        leader, reply = self.leader(), f"ack.{next(self.numbers)}"
        leader.account.subscribe(reply, lambda message: drop(self.answers.setdefault(reply, message.body)))
        account = leader.account
        leader.clock.run(
            lambda: drop(account.publish(subject, body.encode(), reply=reply, header=header, own=True))
        )
        return reply

    def bodies(self) -> list[str]:
        """Wait until it has converged; return the messages' bodies."""
        return [body.decode() for _, _, body in self.converge()]

    def stored(self, *bodies: str) -> list[int]:
        """Publish until each is acknowledged, whoever leads; return their sequences."""
        found = []
        for body in bodies:
            while True:
                reply = self.publish(body)
                end = self.clock.now() + 3 * SECOND
                self.until(lambda reply=reply, end=end: reply in self.answers or self.clock.now() > end)  # type: ignore[misc]
                if reply in self.answers:
                    answer = json.loads(self.answers[reply])
                    assert "error" not in answer, answer
                    found.append(answer["seq"])
                    break
        return found

    def fetch(self, name: str, count: int, *, ack: bool = True) -> list[bytes]:
        """Return the bodies that a pull request gets at once."""
        leader = self.leader()
        got: list[Any] = []

        def received(message: Any) -> None:
            got.append(message)
            if message.reply:
                self.delivered.add(message.body)

        spy = leader.account.subscribe("inbox", received)
        request = json.dumps({"batch": count, "no_wait": True}).encode()
        account = leader.account
        subject = f"$JS.API.CONSUMER.MSG.NEXT.{STREAM}.{name}"
        leader.clock.run(lambda: drop(account.publish(subject, request, reply="inbox", own=True)))
        self.run(0.1)
        account.unsubscribe(spy)
        messages = [one for one in got if one.reply]
        if ack:
            for one in messages:
                leader.clock.run(lambda one=one: drop(account.publish(one.reply, b"+ACK", own=True)))  # type: ignore[misc]
            self.run(0.1)
        return [one.body for one in messages]
