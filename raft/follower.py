"""Following a leader: taking its entries or its snapshot, and calling an election when it is silent.

Recovering. A member whose disk lost entries that it had acknowledged must not help to elect someone who lacks
them. So it neither votes nor campaigns until it holds again all that the present leader had when it answered
this boot of the member: every message carries the leader's last index and echoes the boot count of the
member's last answer, and the first such index received with this boot count is the goal. Why that is enough:
an entry that was committed with the member's lost acknowledgement is in every later leader's log (they were
elected without the member's vote, or with the one it gave while it still had the entry), and an
acknowledgement of an earlier boot is not counted once this boot is known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .log import Snapshot
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

if TYPE_CHECKING:
    from .node import RawNode


class Follower:
    """leader: "" while none is known. Its log is the leader's up to `_matched`."""

    def __init__(self, node: RawNode, leader: str) -> None:
        self.node = node
        self.leader = leader
        self.elapsed = 0
        self._timeout = node.timing.election + node.random.randrange(node.timing.election)
        # What is committed is every leader's; of this term's leader more may be known to be here already.
        self._matched = max(node.log.commit, node.agreed[1] if node.agreed[0] == node.term else 0)
        self._acknowledged = 0
        self._goal: int | None = None
        self._arriving: _Arriving | None = None

    @property
    def leased(self) -> bool:
        """Whether a leader sent something a short while ago."""
        return self.leader != "" and self.elapsed < self.node.timing.election

    def tick(self) -> None:
        """Without a word from a leader for long enough, call an election."""
        self.elapsed += 1
        if self.elapsed >= self._timeout:
            self.elapsed = 0
            self.leader = ""
            if self.node.may_campaign:
                self.node.campaign(pre=True)

    def step(self, message: RaftMessage) -> None:
        """Take a leader's message."""
        if isinstance(message, (AppendEntries, Heartbeat, InstallSnapshot)):
            self.leader = message.source
            self.elapsed = 0
            if message.echo == self.node.state.boot and self._goal is None:
                self._goal = message.last
        if isinstance(message, AppendEntries):
            self._append(message)
        elif isinstance(message, Heartbeat):
            self._heartbeat(message)
        elif isinstance(message, InstallSnapshot):
            self._part(message)
        elif isinstance(message, TimeoutNow) and self.node.may_campaign:
            self.node.campaign(pre=False, transfer=True)

    def campaign_soon(self, ticks: int) -> None:
        """The leader is known to be gone: wait so many ticks at most."""
        self.leader = ""
        self.elapsed = max(self.elapsed, self._timeout - 1 - ticks)

    def written(self) -> None:
        """Acknowledge what is durable now."""
        reached = min(self._matched, self.node.log.stable)
        self._recover(reached)
        if self.leader and reached > self._acknowledged:
            self._acknowledge(reached)

    def _append(self, message: AppendEntries) -> None:
        node = self.node
        log = node.log
        reached = None if log.bare else log.follow(message.prev, message.prev_term, message.entries)
        if reached is None:
            hint, term = (-1, 0) if log.bare else log.agreement(message.prev, message.prev_term)
            node.reply(
                AppendEntriesRejected(
                    node.id, message.source, node.term, message.prev, hint, term, node.state.boot
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
        node = self.node
        node.log.commit_to(min(message.commit, self._matched))
        self._recover(min(self._matched, node.log.stable))
        if message.answer:
            node.reply(HeartbeatReply(node.id, message.source, node.term, node.state.boot))

    def _acknowledge(self, index: int) -> None:
        node = self.node
        self._acknowledged = index
        node.reply(AppendEntriesAccepted(node.id, self.leader, node.term, index, node.state.boot))

    def _match(self, index: int) -> None:
        """The log is the leader's up to `index`; that stays true as long as its term does."""
        self._matched = max(self._matched, index)
        self.node.agreed = (self.node.term, self._matched)

    def _recover(self, reached: int) -> None:
        if self.node.state.recovering and self._goal is not None and reached >= self._goal:
            self.node.set_state(recovering=False)

    def _part(self, message: InstallSnapshot) -> None:
        node = self.node
        log = node.log
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
            node.reply(
                InstallSnapshotReply(
                    node.id, message.source, node.term, message.index, offset, node.state.boot
                )
            )
            return
        self._arriving = None
        node.take_snapshot(Snapshot(message.index, message.index_term, message.members, bytes(arriving.data)))
        self._match(message.index)


class _Arriving:
    """A snapshot, part by part."""

    def __init__(self, index: int, term: int) -> None:
        self.index = index
        self.term = term
        self.data = bytearray()

    def take(self, offset: int, data: bytes) -> None:
        """Take what comes next; a part that does not is sent again."""
        if offset == len(self.data):
            self.data += data
