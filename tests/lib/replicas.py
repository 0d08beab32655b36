"""Replicas of one stream over a log in memory: a leader that applies at once, followers on request."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from lib.fake_clock import FakeClock
from lib.fake_disk import FakeDisk, PowerCut
from lib.streams import HandRunner
from pyjs.protocol.api.consumer import ConsumerConfig
from pyjs.protocol.api.stream import StreamConfig
from pyjs.server.accounts.account import Account
from pyjs.server.accounts.flusher import Flusher
from pyjs.server.config.options import AccountJetStream
from pyjs.server.jetstream.account.account import JetStreamAccount
from pyjs.server.jetstream.consumers import lifecycle
from pyjs.server.jetstream.consumers.config import check as check_consumer
from pyjs.server.jetstream.consumers.core import Consumer
from pyjs.server.jetstream.consumers.info import stamped
from pyjs.server.jetstream.host import JetStreamHost
from pyjs.server.jetstream.quota import Quota
from pyjs.server.jetstream.replication import Replica, entry, state
from pyjs.server.jetstream.streams.core import Stream
from pyjs.server.jetstream.streams.validation.config import check, check_update
from pyjs.server.jetstream.streams.validation.context import ValidationContext
from pyjs.server.slices import Steps, at_once
from pyjs.store.file import FileStream

Done = Callable[[int | Exception], None]
CREATED = 1_600_000_000_000_000_000
DIRECTORY = "/s/msgs"
NAMES = ("one", "two", "three")


def made(config: dict[str, Any]) -> StreamConfig:
    """Return the configuration of the stream `S`, as an API request would make it."""
    wanted = StreamConfig.from_json({"name": "S", "subjects": ["s.>"], "num_replicas": 1, **config})
    return check(wanted, ValidationContext(lookup=lambda _: None))


def changed(old: StreamConfig, changes: dict[str, Any]) -> StreamConfig:
    """Return the configuration after an update."""
    wanted = StreamConfig.from_json({**old.to_json(), **changes})
    context = ValidationContext(lookup=lambda _: None)
    return check_update(old, check(wanted, context), context)


def consumer_config(stream: Stream[Consumer], name: str, config: dict[str, Any]) -> ConsumerConfig:
    """Return a durable consumer's configuration, as an API request would make it."""
    wanted = ConsumerConfig.from_json({"durable_name": name, "mem_storage": True, **config})
    return check_consumer(stamped(wanted), stream.config, lifecycle.bounds(stream.host, AccountJetStream()))


class ReplicaHost:
    """A server's account `A` with a disk and a clock of its own."""

    def __init__(self, clock: FakeClock | None = None) -> None:
        self.clock = clock or FakeClock()
        self.disk = FakeDisk()
        self.answers: list[tuple[str, bytes]] = []
        self.start()

    def start(self) -> None:
        """Start the process; nothing is opened yet."""
        self.runner = HandRunner()
        self.account = Account("A", Flusher(self.clock))
        self.account.subscribe("ack.>", lambda message: self.answers.append((message.subject, message.body)))
        host = JetStreamHost(
            clock=self.clock, executor=self.runner, server_name="x", random_bytes=lambda n: b"r" * n
        )
        directory: Any = None
        limits = {"": AccountJetStream()}
        self.jetstream = JetStreamAccount(self.account, host, directory, limits, Quota(), Quota())

    def store(self, *, cut_to_last_commit: bool) -> FileStream:
        return FileStream(DIRECTORY, fs=self.disk, block_size=2000, cut_to_last_commit=cut_to_last_commit)

    def pull(self, name: str, count: int) -> list[tuple[str, str, bytes, bytes]]:
        """Return (subject, ack subject, header, body) of each message that a pull request gets at once."""
        got: list[tuple[str, str, bytes, bytes]] = []
        spy = self.account.subscribe(
            "inbox",
            lambda message: got.append((message.subject, message.reply, message.header, message.body)),
        )
        request = b'{"batch":%d,"no_wait":true}' % count
        self.account.publish(f"$JS.API.CONSUMER.MSG.NEXT.S.{name}", request, reply="inbox", own=True)
        self.clock.advance(0)
        self.account.unsubscribe(spy)
        return [one for one in got if one[1]]


class Alone(ReplicaHost):
    """The stream on a server by itself, as it is without any log."""

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        self.stream: Stream[Consumer] = Stream(
            made(config), self.store(cut_to_last_commit=False), self.jetstream.context("S"), CREATED
        )
        self.jetstream.streams["S"] = self.stream
        self.stream.start()

    def consumer(self, name: str, config: dict[str, Any]) -> Consumer:
        wanted = ConsumerConfig.from_json({"durable_name": name, "mem_storage": True, **config})
        return lifecycle.create(self.stream, wanted)


class Member(ReplicaHost):
    """One replica. `log` is where it proposes."""

    def __init__(self, log: MemoryLog, config: dict[str, Any], clock: FakeClock | None = None) -> None:
        super().__init__(clock)
        self.log = log
        self.config = made(config)
        self.questions: list[bytes] = []
        self.others = 0  # how many of them had to go to another one
        self.unused_names: list[str] = []
        self.open()

    def open(self) -> None:
        self.steps: Any = None  # what is left of the entries it has to apply
        self.replica = Replica(
            self.config,
            self.store(cut_to_last_commit=True),
            self.jetstream.context("S"),
            CREATED,
            self.log,
            self,
        )
        self.at = self.replica.durable_index

    @property
    def stream(self) -> Any:
        return self.replica.stream

    # the replica's owner

    def replaced(self, replica: Replica) -> None:
        self.jetstream.streams["S"] = replica.stream

    def ask(self, replica: Replica, question: bytes, *, another: bool = False) -> None:
        del replica
        self.questions.append(question)
        self.others += another

    def unused(self, consumer: Consumer) -> None:
        self.unused_names.append(consumer.name)

    def store_failed(self, replica: Replica, error: BaseException) -> None:
        raise AssertionError(error)

    # what happens to it

    def catch_up(self, upto: int, most: int = 1 << 30, rests: Callable[[], bool] = lambda: False) -> None:
        """Apply the log's entries up to an index, at most so many; for `rests` see `go_on`."""
        if not self.go_on(rests):
            return
        news = self.log.entries[self.at : min(upto, self.at + most)]
        if news:
            self.at += len(news)
            self.steps = self.replica.apply(list(enumerate(news, self.at - len(news) + 1)), self.at)
            self.go_on(rests)

    def go_on(self, rests: Callable[[], bool] = lambda: False) -> bool:
        """Apply what is left of the entries.

        rests: called after each step, whether to rest now

        Returns False if it rests.
        """
        while self.steps is not None:
            try:
                next(self.steps)
            except StopIteration:
                self.steps = None
            else:
                if rests():
                    return False
        return True

    def mark(self, index: int) -> bytes:
        """Return a snapshot of the log at `index`, as `take` would."""
        return struct.pack("<qQ", CREATED, index)

    def crash_soon(self, choose: Callable[[int], int]) -> None:
        """Crash, in the middle of a checkpoint if a power cut is due."""
        with suppress(PowerCut):
            self.replica.checkpoint.begin()
        self.crash(choose)

    def crash(self, choose: Callable[[int], int]) -> None:
        """Cut the power of the machine and start it again."""
        self.disk.crash(choose)
        self.start()
        self.open()

    def encoded_state(self) -> bytes:
        """Return all state besides the messages, as bytes that are equal if it is."""
        return state.encode(state.gather(self.stream))

    def messages(self) -> list[Any]:
        return contents(self.stream)


def applied(steps: Steps[None] | None) -> None:
    """Do all steps of applying an entry."""
    if steps is not None:
        at_once(steps)


def contents(stream: Stream[Consumer]) -> list[Any]:
    """Return the stream's figures and all its messages."""
    store = stream.store
    found: list[Any] = [(store.first_seq, store.last_seq, store.messages, store.bytes)]
    sequence = 1
    while (message := store.next((), sequence)) is not None:
        found.append(tuple(message))
        sequence = message.seq + 1
    return found


class MemoryLog:
    """A log whose leader applies what it proposes at once."""

    full = False

    def __init__(self) -> None:
        self.entries: list[bytes] = []
        self.leader: Member | None = None
        self._asked: list[tuple[Sequence[bytes], Done]] = []
        self._busy = False

    def propose(self, data: Sequence[bytes], done: Done, *, publishes: int = 0) -> None:
        del publishes
        self._asked.append((data, done))
        self.pump()

    def pump(self) -> None:
        if self._busy or self.leader is None:
            return
        self._busy = True
        try:
            while self._asked:
                data, done = self._asked.pop(0)
                self.entries += data
                self.leader.catch_up(len(self.entries))
                done(len(self.entries))
        finally:
            self._busy = False

    def lead(self, member: Member) -> None:
        """Let `member` lead from now on."""
        if self.leader is not None:
            self.leader.replica.follow()
        for _, done in self._asked:
            done(OSError("lost"))
        self._asked.clear()
        member.catch_up(len(self.entries))
        self.leader = member
        member.replica.lead()


def order(member: Member, wanted: entry.Entry) -> list[Any]:
    """Give an order to a replica and return what its entry led to."""
    got: list[Any] = []
    member.replica.proposals.propose(wanted, got.append)
    return got


__all__ = ["Alone", "Member", "MemoryLog", "ReplicaHost", "contents", "order"]
