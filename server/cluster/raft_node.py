"""RaftNode: this server's member of one Raft group, with its disk, its messages and its application.

Promises: writes happen one at a time, on a worker thread or, where `read_turn` and `LoopWrites` allow it, on
the loop. Everything proposed in one turn of the loop is sent, and written to the disk, together. The
application gets committed entries as `applier` says. A proposal is answered once. After a failed write, or
when the application raised, it sends nothing more (`failure`). When `stop` calls back, no work is left and no
entry is half applied.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import TYPE_CHECKING

from ...raft import (
    AppendEntries,
    AppendEntriesAccepted,
    BrokenLogError,
    Members,
    NotLeaderError,
    RaftMessage,
    RawNode,
    Snapshot,
    StorageAppend,
)
from ...store.errors import StoreError
from ..loop_writes import SLOW, LoopWrites
from . import raft_disk
from .applier import Applier
from .leadership_transfer import LeadershipTransfer
from .peer_status import PeerStatus
from .proposals import Done, Outcome, ProposalLostError, Proposals
from .quorum_rescue import QuorumRescue
from .read_turn import AWAITED_BYTES

if TYPE_CHECKING:
    from ...store.raft import RaftStore, StoredRaft
    from .environment import GroupEnvironment
    from .state_machine import GroupListener, StateMachine

COMPACT_BYTES = 16 << 20
_APPLY_BYTES = 512 * 1024  # applied in one turn of the loop
_DOUBT_TICKS = 40  # ticks until a proposal counts as unknown, see `Proposals`
_STALLED = 20  # ticks that a write may take before a leader resigns
_SNAPSHOT_AGAIN = 4  # ticks between two requests for a snapshot


class RaftNode:
    """One member. `leader` and the members are given as members' ids.

    proposals: those without an answer.
    peers: what it knows of the other members.
    leadership: hands it over, and calls elections.
    rescue: lets fewer than a majority decide, when an operator asks for it.
    failure: why the node has ended, "" while it runs.
    broken: whether it ended because its state cannot be read, so that another incarnation must replace it.
    """

    def __init__(
        self,
        name: str,
        member: str,
        store: RaftStore,
        application: StateMachine,
        listener: GroupListener,
        environment: GroupEnvironment,
    ) -> None:
        self.name = name
        self.member = member
        self.application = application
        self.node: RawNode | None = None
        self.failure = ""
        self.broken = False
        self.retry = False
        self.ready = False  # it leads, and has informed its listener
        self.disk_loss = ""  # what the disk had lost at the start
        self._store = store
        self._listener = listener
        self._transport = environment.transport
        self._executor = environment.executor
        self._log = environment.log
        self._timing = environment.timing
        self._compact_entries = environment.compact_entries
        self._compaction = environment.compaction
        self._random = random = environment.random()
        self._now = environment.ticker.count  # ticks
        self.proposals = Proposals(_DOUBT_TICKS)
        self.peers = PeerStatus(self._now)
        self.leadership = LeadershipTransfer(
            name, member, random, self.peers, self._soon, environment.handing_over
        )
        self.rescue = QuorumRescue(name, environment.log, self.peers, self.leadership)
        self._applier = Applier(application, self._executor, self.proposals)
        self._next_snapshot = 0  # the tick from which a snapshot may be requested
        self._leader = ""
        self._turn = environment.transport.turn
        self._loop_writes = LoopWrites()
        self._scheduled = False
        self._busy_since = -1  # the tick at which the disk work under way began, -1 for none
        self._stored: StoredRaft | None = None
        self._stopped: Callable[[], None] | None = None

    # --- lifecycle

    def start(self, *, create: Members | None = None) -> None:
        """Read the state from the disk and begin.

        create: begin a new state with these members; with none of them, it waits to be added.
        """

        def job() -> None:
            if create is not None:
                raft_disk.create(self._store, Snapshot(0, 0, create))
            self._stored = self._store.open()

        self._work(job, self._opened)

    def stop(self, done: Callable[[], None]) -> None:
        """Stop the node and call `done` when nothing is under way any more and the files are closed.

        What the application has begun to apply, it finishes.
        """
        self._stopped = done
        self._transport.unsubscribe_raft(self.name)
        self.proposals.refuse("the server stops")
        self._close()

    def _opened(self, error: BaseException | None) -> None:
        if error is not None:
            self.broken = isinstance(error, StoreError)
            self._fail(error, "cannot start")
            return
        stored, self._stored = self._stored, None
        assert stored is not None
        application = self.application
        self.disk_loss = stored.lost
        # After a loss it is unknown which entries of the log are those that were applied.
        last = 0 if stored.state.recovering else stored.base + len(stored.entries)
        log, state = raft_disk.load(stored, min(application.durable_index, last))
        self.node = self.peers.node = RawNode(
            self.member, log, state, config=self._timing, random=self._random, now=self._now
        )
        self._applier.applied = application.durable_index
        if log.snapshot.index > application.durable_index:
            self._restore(log.snapshot)
        if stored.repaired:
            self._log.info(f"Group {self.name}: {stored.repaired}")
        if stored.lost:
            self._log.warning(f"Group {self.name} lost something and waits to catch up: {stored.lost}")
        if not self.failure:
            self._transport.subscribe_raft(self.name, self._receive)
            self._soon()

    def _close(self) -> None:
        """Close the files after `stop`. If work is under way, its end calls this again."""
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
        """Whether this member leads."""
        return self.node is not None and self.node.is_leader

    @property
    def leader(self) -> str:
        """The leader's id; "" if none is known."""
        return self.node.leader if self.node is not None else ""

    @property
    def members(self) -> Members:
        """The newest configuration that this member knows."""
        return self.node.members if self.node is not None else Members.of(())

    @property
    def commit(self) -> int:
        """The index up to which the log is known to be committed."""
        return self.node.log.commit if self.node is not None else 0

    @property
    def applied(self) -> int:
        """The index up to which the application has applied entries."""
        return self._applier.applied

    def health(self) -> str:
        """Return what is wrong, "" if nothing is."""
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
        """Propose entries and call `done` with the index of the last one, once it is applied here.

        If that fails, `done` gets a ProposalLostError (never committed) or a ProposalUnknownError. The
        entries of one call follow each other, but only a call with a single entry is sure to be committed as
        a whole.
        """
        node = self.node
        if node is None or self.failure or self._stopped is not None or not node.accepts_proposals:
            done(self._refusal())
            return
        self.proposals.ask(data, done)
        self._soon(awaited=len(self.proposals) == 1 and sum(map(len, data)) <= AWAITED_BYTES)

    def change_members(self, members: Members) -> None:
        """Propose another configuration. Raises NotLeaderError or MembersError."""
        if self.node is None:
            raise NotLeaderError("")
        self.node.change_members(members)
        self._soon()

    def give_up(self, error: Exception) -> None:
        """End this member because the application cannot go on. A leader asks another one to take over."""
        self._fail(error, "gives up")

    # --- time and messages

    def tick(self) -> None:
        """Count a tick."""
        self._now = self.peers.now = self._now + 1
        node = self.node
        if node is None or self.failure or self._stopped is not None:
            return
        self.proposals.tick()
        self.rescue.tick()
        if self._stalled and node.accepts_proposals:
            self.leadership.resign()
        # No `_do` needed: a tick brings no entries that a broken log could refuse.
        news = node.tick()
        if news or node.leader != self._leader or self._now == self._next_snapshot:
            self._soon()

    def _receive(self, message: RaftMessage) -> None:
        node = self.node
        if node is None or message.to != self.member or self.failure:
            return
        self.peers.heard(message.source)
        if self._do(lambda: node.step(message)):
            self._soon(awaited=_is_awaited(message, self.proposals))

    def _do(self, action: Callable[[], None]) -> bool:
        """Do it, and return whether the log can still be trusted. If not, this member ends."""
        try:
            action()
        except BrokenLogError as error:
            self._fail(error, "is not to be trusted")
            return False
        return True

    def _soon(self, *, awaited: bool = False) -> None:
        """Do what there is to do at the end of this turn; if somebody awaits it alone, of this read."""
        if not self._scheduled:
            self._scheduled = True
            if awaited and self._turn.alone(self.name):
                self._turn.soon(self._pump)
            else:
                self._executor.soon(self._pump)

    def _pump(self) -> None:
        """Send, write and apply what the core has ready."""
        self._scheduled = False
        node = self.node
        if node is None or self.failure or self._stopped is not None:
            return
        if self.proposals.asked:
            self.proposals.hand_in(node, self._refusal)
        self._send(node)
        self._compact(node)  # first, before there is more to write and to apply
        if self._busy_since < 0:
            write = node.write()
            if write is not None:
                self._write(write, node)
            if node.outgoing:
                self._send(node)
        self._apply(node)
        self._notify(node)
        self._compact(node)

    def _send(self, node: RawNode) -> None:
        send, name = self._transport.send, self.name
        for message in node.messages():
            send(name, message, waits=node.may_wait(message))

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

    def _write(self, write: StorageAppend, node: RawNode) -> None:
        """Make a write durable: on a thread, or before this returns."""
        quick = self._loop_writes.quick >= self._loop_writes.needed
        alone = self._turn.alone(self.name)  # asked for each write: it notes which groups write
        here = alone and quick and _is_little(write)
        began = perf_counter()

        def job() -> None:
            raft_disk.persist(self._store, write)

        def done(error: BaseException | None) -> None:
            if perf_counter() - began <= SLOW:
                self._loop_writes.quick += 1
            elif _is_little(write):
                self._loop_writes.was_slow(synced_here=here)
            if error is not None:
                self._fail(error, "cannot write")
            elif self._do(node.written) and not here:
                self._soon()

        if not here:
            self._work(job, done)
            return
        try:
            self._transport.flush()  # the followers write meanwhile
            self._turn.flush()
        finally:  # what the node has handed out must end, or it would never write again
            failure: BaseException | None = None
            try:
                job()
            except Exception as error:  # as from a thread
                failure = error
            done(failure)

    def _compact(self, node: RawNode) -> None:
        """Take a snapshot if enough was applied since the last one and nothing is under way."""
        if self._busy_since >= 0 or self._applier.busy or self.failure:
            return
        log = node.log
        since, grown, wanted = self.applied - log.snapshot.index, self._applier.grown, self._compaction
        entries, size = wanted.entries or self._compact_entries, wanted.bytes or COMPACT_BYTES
        if (since < entries and grown < size) or self._now < self._next_snapshot:
            return
        taken = self.application.snapshot()
        self._next_snapshot = self._now + _SNAPSHOT_AGAIN
        if taken is None or not log.snapshot.index < taken[0] <= min(log.applied, self.applied):
            return  # retry later: nothing new is durable, or it is ahead of the log
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
        """Continue after the application has applied what it got, or failed to."""
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
        """Inform the listener about a change of leader."""
        if self.failure:
            return
        if self.ready and not node.is_leader:
            self.ready = False
            self.proposals.leadership_lost()
            self._listener.following()
        elif not node.is_leader:
            self.proposals.leadership_lost()
        if node.leader != self._leader:
            self._leader = node.leader
            self._listener.leader_changed(node.leader)
        if self.ready or not node.is_leader or self._applier.busy:
            return
        if node.log.term(node.log.applied) == node.term:
            self.ready = True
            self._listener.leading(self.applied)

    def _fail(self, error: BaseException, what: str) -> None:
        """End this member. If it leads, it asks another one to take over."""
        if self.failure:
            return
        self.failure = f"group {self.name} {what}: {type(error).__name__}: {error}"
        self.retry = isinstance(error, OSError)
        self._log.error(self.failure[:1].upper() + self.failure[1:])
        node = self.node
        if node is not None:
            node.fail(self.failure)
            self._send(node)
        self._transport.unsubscribe_raft(self.name)
        self.proposals.refuse(self.failure)
        if self.ready:
            self.ready = False
            self._listener.following()
        self._listener.failed(self.failure, restarts=self.broken or self.retry)


def _is_little(write: StorageAppend) -> bool:
    """Return whether a write has one little entry, as most have that somebody awaits."""
    plain = write.state is None and write.snapshot is None
    return plain and len(write.entries) == 1 and len(write.entries[0].data) <= AWAITED_BYTES


def _is_awaited(message: RaftMessage, proposals: Proposals) -> bool:
    """Return whether a message belongs to the only request that is under way, and that one is little."""
    if isinstance(message, AppendEntries):
        return len(message.entries) == 1 and len(message.entries[0].data) <= AWAITED_BYTES
    return isinstance(message, AppendEntriesAccepted) and len(proposals) == 1
