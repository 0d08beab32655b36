"""RaftNode: this server's member of one Raft group, with its disk, its messages and its application.

Promises: writes block a worker thread, never the loop, one at a time; all that is proposed in one turn of the
loop goes out, and to the disk, together; the application is given what is committed as in `applier`; a
proposal is answered once. After a refused write, or an application that raised, it sends nothing more
(`failure`). `stop` leaves no work behind, and no entry half applied, once it calls back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import TYPE_CHECKING
from zlib import crc32

from ...raft import (
    BrokenLogError,
    Members,
    NotLeaderError,
    RaftConfig,
    RaftMessage,
    RawNode,
    Snapshot,
    StorageAppend,
)
from ...store.errors import StoreError
from . import raft_disk
from .applier import Applier
from .proposals import Done, Outcome, ProposalLostError, Proposals

if TYPE_CHECKING:
    from ...store.raft import RaftStore, StoredRaft
    from ..logging import Logger
    from ..task_executor import TaskExecutor
    from .state_machine import GroupListener, StateMachine
    from .transport import RaftTransport

TIMING = RaftConfig(heartbeat=2, election=10)
COMPACT_ENTRIES = 8192
COMPACT_BYTES = 16 << 20
_APPLY_BYTES = 512 * 1024  # applied in one turn of the loop
_ALIVE = 8  # ticks without a word after which a member is not taken to be alive
_PATIENCE = 40  # ticks
_STALLED = 20  # ticks that a write may take before a leader gives up its place
_NEAR = 256  # entries that a learner may be behind when it becomes a voter
_TAKE_AGAIN = 4  # ticks between two snapshots asked for
_STAGGER = 2  # ticks between the elections that voters call when their leader is gone


class RaftNode:
    """One member. `leader` and `members` are members' ids.

    failure: why it has ended, "" while it has not; broken: it has because its state cannot be read, so that
    another incarnation must take its place.
    """

    def __init__(
        self,
        name: str,
        member: str,
        store: RaftStore,
        application: StateMachine,
        listener: GroupListener,
        *,
        transport: RaftTransport,
        executor: TaskExecutor,
        random: Random,
        log: Logger,
        timing: RaftConfig = TIMING,
        compact_entries: int = COMPACT_ENTRIES,
        now: int = 0,
    ) -> None:
        self.name = name
        self.member = member
        self.application = application
        self.node: RawNode | None = None
        self.failure = ""
        self.broken = False
        self.retry = False
        self.ready = False  # leads, and has told its listener
        self.disk_loss = ""  # what the disk had lost when it started
        self._store = store
        self._listener = listener
        self._transport = transport
        self._executor = executor
        self._random = random
        self._log = log
        self._timing = timing
        self._compact_entries = compact_entries
        self._proposals = Proposals(_PATIENCE)
        self._asked: list[tuple[Sequence[bytes], Done]] = []
        self._last_seen: dict[str, int] = {}
        self._now = now  # ticks
        self._applier = Applier(application, executor, self._proposals)
        self._next_take = 0  # the tick from which on a snapshot may be asked for
        self._leader = ""
        self._scheduled = False
        self._busy_since = -1  # the tick at which the work that is under way began
        self._stored: StoredRaft | None = None
        self._stopped: Callable[[], None] | None = None

    # --- lifecycle

    def start(self, *, create: Members | None = None) -> None:
        """Read the state from the disk, and begin.

        create: begin a new one with these members first (none at all: it waits to be added).
        """

        def job() -> None:
            if create is not None:
                raft_disk.create(self._store, Snapshot(0, 0, create))
            self._stored = self._store.open()

        self._work(job, self._opened)

    def stop(self, done: Callable[[], None]) -> None:
        """End. `done` is called when nothing is under way any more and the files are closed.

        What the application has begun to apply it applies to the end.
        """
        self._stopped = done
        self._transport.close(self.name)
        self._refuse("the server stops")
        self._close()

    def resign(self) -> None:
        """Hand the leadership over, if it has it and somebody can take it."""
        node = self.node
        if node is None or not node.accepts:
            return
        matches = node.matches()
        others = [m for m in sorted(node.members.voters & self.alive()) if m in matches]
        if others:
            most = min(max(matches[member] for member in others), node.log.commit)
            # By chance among equals: who is chosen may have to pass it on as well.
            node.transfer(self._random.choice([m for m in others if matches[m] >= most]))
            self._soon()

    def _opened(self, error: BaseException | None) -> None:
        if error is not None:
            self.broken = isinstance(error, StoreError)
            self._fail(error, "cannot start")
            return
        stored, self._stored = self._stored, None
        assert stored is not None
        application = self.application
        self.disk_loss = stored.lost
        # Of a log that lost something it is not known which entries are those that were applied.
        last = 0 if stored.state.recovering else stored.base + len(stored.entries)
        log, state = raft_disk.load(stored, min(application.applied, last))
        self.node = RawNode(self.member, log, state, timing=self._timing, random=self._random, now=self._now)
        self._applier.applied = application.applied
        if log.snapshot.index > application.applied:
            self._restore(log.snapshot)
        if stored.mended:
            self._log.info(f"Group {self.name}: {stored.mended}")
        if stored.lost:
            self._log.warning(f"Group {self.name} lost something and waits to catch up: {stored.lost}")
        if not self.failure:
            self._transport.open(self.name, self._receive)
            self._soon()

    def _close(self) -> None:
        """It was stopped: close the files, unless something is under way that comes here at its end."""
        if self._busy_since >= 0 or self._applier.busy:
            return

        def closed(error: BaseException | None) -> None:
            del error
            assert self._stopped is not None
            self._stopped()

        self._executor.work(self._store.close, closed)

    # --- what it is

    @property
    def is_leader(self) -> bool:
        """Whether it leads."""
        return self.node is not None and self.node.is_leader

    @property
    def leader(self) -> str:
        """The leader's id; "" while none is known."""
        return self.node.leader if self.node is not None else ""

    @property
    def members(self) -> Members:
        """The newest configuration it knows."""
        return self.node.members if self.node is not None else Members.of(())

    @property
    def commit(self) -> int:
        """How far the log is known to be committed."""
        return self.node.log.commit if self.node is not None else 0

    @property
    def applied(self) -> int:
        """How far the application's state is."""
        return self._applier.applied

    def pending_proposals(self) -> int:
        """How many proposals wait for their end."""
        return len(self._proposals) + len(self._asked)

    def alive(self) -> frozenset[str]:
        """Members that sent something a short while ago."""
        return frozenset(m for m, tick in self._last_seen.items() if self._now - tick <= _ALIVE)

    def silence(self) -> dict[str, int]:
        """For how many ticks each member that ever sent something has been silent."""
        return {member: self._now - tick for member, tick in self._last_seen.items()}

    def lag(self) -> dict[str, int]:
        """How many entries the others are behind, as their leader knows; {} elsewhere."""
        node = self.node
        return {m: node.log.last - match for m, match in node.matches().items()} if node is not None else {}

    def caught_up(self) -> frozenset[str]:
        """Who has, as good as, everything."""
        node = self.node
        if node is None or not node.is_leader:
            return frozenset()
        return frozenset(m for m, match in node.matches().items() if match and match + _NEAR >= node.log.last)

    def level(self) -> frozenset[str]:
        """The voters that have all that is applied here, as their leader knows."""
        matches = {} if self.node is None else self.node.matches()
        return frozenset(m for m in self.members.voters if matches.get(m, -1) >= self.applied)

    def health(self) -> str:
        """What is wrong, "" for nothing."""
        node = self.node
        if self.failure:
            return self.failure
        if node is None:
            return "it is starting"
        if self._stalled:
            return "the disk does not answer"
        if node.recovering:
            return f"it is catching up: {self.disk_loss or 'its log had lost something'}"
        return "" if node.leader else "there is no leader"

    @property
    def _stalled(self) -> bool:
        return self._busy_since >= 0 and self._now - self._busy_since > _STALLED

    # --- requests

    def propose(self, data: Sequence[bytes], done: Done) -> None:
        """Have entries committed; `done` gets the index of the last one, once it is applied here.

        Otherwise it gets a ProposalError: ProposalLostError (never committed) or ProposalUnknownError.
        Entries of one call follow each other, but only a single one is sure to be committed as a whole.
        """
        node = self.node
        if node is None or self.failure or self._stopped is not None or not node.accepts:
            done(self._refusal())
            return
        self._asked.append((data, done))
        self._soon()

    def change_members(self, members: Members) -> None:
        """Propose another configuration. Raises NotLeaderError, MembersError."""
        if self.node is None:
            raise NotLeaderError("")
        self.node.change_members(members)
        self._soon()

    def transfer(self, to: str) -> None:
        """Let another voter lead. Raises NotLeaderError, MembersError."""
        if self.node is None:
            raise NotLeaderError("")
        self.node.transfer(to)
        self._soon()

    def campaign_soon(self) -> None:
        """There is no leader, or it is known to be gone: call an election soon, one voter after the other."""
        node = self.node
        if node is None or node.is_leader:
            return
        # By chance, but the same on every member: groups of the same members do not all get one leader.
        voters = sorted(node.members.voters - {node.leader}, key=self._rank)
        if self.member in voters:
            node.campaign_soon(_STAGGER * voters.index(self.member))
            self._soon()

    def _rank(self, member: str) -> int:
        return crc32(f"{self.name} {member}".encode())

    def give_up(self, error: Exception) -> None:
        """End here, as the application cannot go on; a leader asks someone else to take over."""
        self._fail(error, "gives up")

    # --- time and messages

    def tick(self) -> None:
        """A tick has passed."""
        self._now += 1
        node = self.node
        if node is None or self.failure or self._stopped is not None:
            return
        self._proposals.tick()
        if self._stalled and node.accepts:
            self.resign()
        # Without entries from elsewhere there is nothing in it that a broken log could refuse.
        news = node.tick()
        if news or node.leader != self._leader or self._now == self._next_take:
            self._soon()

    def _receive(self, message: RaftMessage) -> None:
        node = self.node
        if node is None or message.to != self.member or self.failure:
            return
        self._last_seen[message.source] = self._now
        self._do(lambda: node.step(message))

    def _do(self, action: Callable[[], None]) -> None:
        try:
            action()
        except BrokenLogError as error:
            self._fail(error, "is not to be trusted")
            return
        self._soon()

    def _soon(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            self._executor.soon(self._pump)

    def _pump(self) -> None:
        """Send, write and apply what the core hands out."""
        self._scheduled = False
        node = self.node
        if node is None or self.failure or self._stopped is not None:
            return
        if self._asked:
            self._hand_in(node)
        self._send(node)
        self._compact(node)  # before there is more to write and to apply
        if self._busy_since < 0:
            write = node.write()
            if write is not None:
                self._write(write)
            if node.outgoing:
                self._send(node)
        self._apply(node)
        self._notify(node)
        self._compact(node)

    def _send(self, node: RawNode) -> None:
        send, name = self._transport.send, self.name
        for message in node.messages():
            send(name, message, waits=node.may_wait(message))

    def _hand_in(self, node: RawNode) -> None:
        asked, self._asked = self._asked, []
        if not node.accepts:
            for _, done in asked:
                done(self._refusal())
            return
        first, term = node.propose([entry for data, _ in asked for entry in data])
        for data, done in asked:
            last = first + len(data) - 1
            self._proposals.add(first, last, term, done)
            first = last + 1

    def _refusal(self) -> Outcome:
        if self.failure:
            return ProposalLostError(self.failure)
        return ProposalLostError(f"the leader is {self.leader}" if self.leader else "there is no leader")

    # --- the disk

    def _work(self, job: Callable[[], None], done: Callable[[BaseException | None], None]) -> None:
        self._busy_since = self._now

        def finished(error: BaseException | None) -> None:
            self._busy_since = -1
            if self._stopped is not None:
                self._close()
            else:
                done(error)

        self._executor.work(job, finished)

    def _write(self, write: StorageAppend) -> None:
        def done(error: BaseException | None) -> None:
            if error is not None:
                self._fail(error, "cannot write")
            elif self.node is not None:
                self._do(self.node.written)

        self._work(lambda: raft_disk.persist(self._store, write), done)

    def _compact(self, node: RawNode) -> None:
        """Take a snapshot when enough has come since the last, and nothing is under way."""
        if self._busy_since >= 0 or self._applier.busy or self.failure:
            return
        log = node.log
        since, grown = self.applied - log.snapshot.index, self._applier.grown
        if (since < self._compact_entries and grown < COMPACT_BYTES) or self._now < self._next_take:
            return
        taken = self.application.take()
        self._next_take = self._now + _TAKE_AGAIN
        if taken is None or not log.snapshot.index < taken[0] <= min(log.applied, self.applied):
            return  # later: nothing new is durable there, or it knows more than its log has
        self._applier.grown = 0
        index, data = taken
        snapshot = Snapshot(index, log.term(index), log.members_at(index), data)
        base = node.compact(snapshot)

        def done(error: BaseException | None) -> None:
            if error is not None:
                self._fail(error, "cannot compact")
            else:
                self._soon()

        self._work(lambda: raft_disk.compact(self._store, snapshot, base), done)

    # --- the application

    def _apply(self, node: RawNode) -> None:
        if self._applier.busy:
            return
        ready = node.committed(most_bytes=_APPLY_BYTES)
        if ready is None:
            return
        if ready.snapshot is not None and ready.snapshot.index > self.applied:
            self._restore(ready.snapshot)
        if not self.failure and ready.entries:
            self._applier.give(ready, self._given)
        if not self.failure and node.log.applied < min(node.log.commit, node.log.stable):
            self._soon()

    def _given(self, error: Exception | None) -> None:
        """What was given is applied, or the application cannot."""
        if error is not None:
            self._fail(error, "cannot apply what was decided")
        if self._stopped is not None:
            self._close()
        else:
            self._soon()

    def _restore(self, snapshot: Snapshot) -> None:
        try:
            self._applier.restore(snapshot)
        except Exception as error:
            self._fail(error, "cannot take a snapshot")

    # --- news

    def _notify(self, node: RawNode) -> None:
        """Tell the listener of a change of leader."""
        if self.failure:
            return
        if self.ready and not node.is_leader:
            self.ready = False
            self._proposals.leadership_lost()
            self._listener.following()
        elif not node.is_leader:
            self._proposals.leadership_lost()
        if node.leader != self._leader:
            self._leader = node.leader
            self._listener.leader_changed(node.leader)
        if self.ready or not node.is_leader or self._applier.busy:
            return
        if node.log.term(node.log.applied) == node.term:
            self.ready = True
            self._listener.leading(self.applied)

    def _refuse(self, why: str) -> None:
        asked, self._asked = self._asked, []
        for _, done in asked:
            done(ProposalLostError(why))
        self._proposals.fail(why)

    def _fail(self, error: BaseException, what: str) -> None:
        """End here; a leader asks someone else to take over."""
        if self.failure:
            return
        self.failure = f"group {self.name} {what}: {type(error).__name__}: {error}"
        self.retry = isinstance(error, OSError)
        self._log.error(self.failure[:1].upper() + self.failure[1:])
        node = self.node
        if node is not None:
            node.fail(self.failure)
            self._send(node)
        self._transport.close(self.name)
        self._refuse(self.failure)
        if self.ready:
            self.ready = False
            self._listener.following()
        self._listener.failed(self.failure, restarts=self.broken or self.retry)
