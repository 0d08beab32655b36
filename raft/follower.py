"""The follower: takes a leader's entries or snapshot, and calls an election when the leader is silent.

Recovering. A member whose disk lost entries that it had acknowledged must not help to elect a member that
lacks them. So it neither votes nor campaigns until it has again everything that the present leader had when
the leader answered this boot of the member. Every message of the leader carries the leader's last index and
echoes the boot count of the member's last answer. The first such index that arrives with the present boot
count is the goal.

This is enough. An entry that was committed with the member's lost acknowledgement is in the log of every
later leader, because those leaders were elected without the member's vote, or with a vote that it gave while
it still had the entry. And an acknowledgement of an earlier boot does not count once this boot is known.
"""

from __future__ import annotations

from .entry import Snapshot
from .message import (
    AppendEntries,
    AppendEntriesAccepted,
    AppendEntriesRejected,
    Heartbeat,
    HeartbeatReply,
    InstallSnapshot,
    InstallSnapshotReply,
    RaftMessage,
    TimeoutNow,
)
from .raft import Raft
from .roles import Event, RaftState


class Follower:
    """A follower of a leader, or of none yet.

    leader: the leader of the present term, "" while none is known.
    elapsed: ticks since the last message of the leader, or since the member voted for somebody.
    leader_last: the last index of the leader's log, as its last message said; 0 while there was none.
    """

    state = RaftState.FOLLOWER

    def __init__(self, raft: Raft, leader: str) -> None:
        self.leader = leader
        self.elapsed = 0
        self.leader_last = 0
        self._raft = raft
        self._timeout = raft.election_timeout()
        # Up to here the log is the same as the leader's. Every leader has what is committed. If the leader of
        # this term is known already, more of the log may have been compared with its log.
        term, verified = raft.verified
        self._matched = max(raft.log.commit, verified if term == raft.term else 0)
        self._acknowledged = 0  # the last index acknowledged to this leader; durable, at most `_matched`
        self._goal: int | None = None  # while recovering: the index to reach again, None while unknown
        self._arriving: _Arriving | None = None  # a snapshot that has arrived in part

    @property
    def leased(self) -> bool:
        """Whether the leader was heard within an election timeout.

        If so, the member votes for nobody else.
        """
        return self.leader != "" and self.elapsed < self._raft.config.election

    def tick(self) -> None:
        """Call an election when no leader has been heard for an election timeout."""
        self.elapsed += 1
        if self.elapsed >= self._timeout:
            self.elapsed = 0
            self.leader = ""
            if self._raft.may_campaign:
                self._raft.event = Event.ELECTION_TIMEOUT

    def step(self, message: RaftMessage) -> None:
        """Take a message of the leader."""
        if isinstance(message, (AppendEntries, Heartbeat, InstallSnapshot)):
            self.leader = message.source
            self.elapsed = 0
            self.leader_last = message.last
            if message.echo == self._raft.hard_state.boot and self._goal is None:
                self._goal = message.last
        if isinstance(message, AppendEntries):
            self._append(message)
        elif isinstance(message, Heartbeat):
            self._heartbeat(message)
        elif isinstance(message, InstallSnapshot):
            self._snapshot_part(message)
        elif isinstance(message, TimeoutNow) and self._raft.may_campaign:
            self._raft.event = Event.TIMEOUT_NOW

    def campaign_soon(self, ticks: int) -> None:
        """Forget the leader, which is known to be gone, and wait for at most `ticks` more ticks."""
        self.leader = ""
        self.elapsed = max(self.elapsed, self._timeout - 1 - ticks)

    def written(self) -> None:
        """Acknowledge what has become durable."""
        reached = min(self._matched, self._raft.log.stable)
        self._recover(reached)
        if self.leader and reached > self._acknowledged:
            self._acknowledge(reached)

    def _append(self, message: AppendEntries) -> None:
        raft = self._raft
        log = raft.log
        reached = None if log.bare else log.maybe_append(message.prev, message.prev_term, message.entries)
        if reached is None:
            hint, term = (-1, 0) if log.bare else log.find_conflict_by_term(message.prev, message.prev_term)
            raft.send_when_durable(
                AppendEntriesRejected(
                    raft.id, message.source, raft.term, message.prev, hint, term, raft.hard_state.boot
                )
            )
            return
        self._match(reached)
        log.commit_to(min(message.commit, self._matched))
        stable = min(self._matched, log.stable)
        if stable >= reached:
            self._recover(stable)
            self._acknowledge(stable)

    def _heartbeat(self, message: Heartbeat) -> None:
        raft = self._raft
        raft.log.commit_to(min(message.commit, self._matched))
        self._recover(min(self._matched, raft.log.stable))
        if message.answer:
            raft.send_when_durable(HeartbeatReply(raft.id, message.source, raft.term, raft.hard_state.boot))

    def _acknowledge(self, index: int) -> None:
        raft = self._raft
        self._acknowledged = index
        boot = raft.hard_state.boot
        raft.send_when_durable(AppendEntriesAccepted(raft.id, self.leader, raft.term, index, boot))

    def _match(self, index: int) -> None:
        """Note that the log is the same as the leader's up to `index`, which stays true in this term."""
        self._matched = max(self._matched, index)
        self._raft.verified = (self._raft.term, self._matched)

    def _recover(self, reached: int) -> None:
        raft = self._raft
        if raft.hard_state.recovering and self._goal is not None and reached >= self._goal:
            raft.set_hard_state(recovering=False)

    def _snapshot_part(self, message: InstallSnapshot) -> None:
        raft = self._raft
        log = raft.log
        known = message.index <= log.commit or log.term(message.index) == message.index_term
        if known and not log.bare:
            self._match(min(message.index, log.last))
            log.commit_to(message.index)
            self._acknowledge(min(self._matched, log.stable))
            return
        arriving = self._arriving
        if arriving is None or (arriving.index, arriving.term) != (message.index, message.index_term):
            arriving = self._arriving = _Arriving(message.index, message.index_term)
        arriving.take(message.offset, message.data)
        if len(arriving.data) < message.size:
            offset = len(arriving.data)
            raft.send_when_durable(
                InstallSnapshotReply(
                    raft.id, message.source, raft.term, message.index, offset, raft.hard_state.boot
                )
            )
            return
        self._arriving = None
        raft.install(Snapshot(message.index, message.index_term, message.members, bytes(arriving.data)))
        self._match(message.index)


class _Arriving:
    """A snapshot that arrives part by part."""

    def __init__(self, index: int, term: int) -> None:
        self.index = index
        self.term = term
        self.data = bytearray()

    def take(self, offset: int, data: bytes) -> None:
        """Append the next part. Ignore any other part: the leader sends it again."""
        if offset == len(self.data):
            self.data += data
