"""Leading: bringing every follower's log to one's own, and committing what a majority has.

Nothing is sent at once: `fill` makes, when messages are fetched, one message of all that was proposed since,
for each follower; so the busier a group is, the more goes into one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .entry import OVERHEAD, Entry, EntryType
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
from .progress import Progress, ProgressState

if TYPE_CHECKING:
    from .node import RawNode

_SILENCE = 3  # beats without an acknowledgement of what is under way


class Leader:
    """One leadership. successor: whom it hands over to, "" if to nobody."""

    leased = True  # it steps down by itself when it does not hear a majority

    def __init__(self, node: RawNode) -> None:
        self.node = node
        self.leader = node.id
        self.elapsed = 0
        self.successor = ""
        self.followers: dict[str, Progress] = {}
        self._handing_over = 0

    def start(self) -> None:
        """Begin: an empty entry, by which what came before can be committed."""
        self.members_changed()
        self.node.log.append([Entry(self.node.term, EntryType.EMPTY, b"")])
        self._beat()

    def members_changed(self) -> None:
        """Know everyone of the newest configuration; who left is forgotten when that is committed."""
        last = self.node.log.last
        for member in sorted(self.node.members.all - {self.node.id}):
            if member not in self.followers:
                self.followers[member] = Progress(next=last + 1, heard=True)

    # --- time

    def tick(self) -> None:
        """Beat; step down when no majority answers; do not hand over for ever."""
        self.elapsed += 1
        if self.successor:
            self._handing_over += 1
            if self._handing_over >= self.node.timing.election:
                self.successor = ""
        if self.elapsed >= self.node.timing.election:
            self.elapsed = 0
            if not self._has_quorum():
                self.node.follow(self.node.term, "")
                return
        if self.node.now % self.node.timing.heartbeat == 0:
            self._beat()

    def _has_quorum(self) -> bool:
        members = self.node.members
        heard = {name for name, progress in self.followers.items() if progress.heard} | {self.node.id}
        for progress in self.followers.values():
            progress.heard = False
        return len(heard & members.voters) >= members.quorum

    def _beat(self) -> None:
        for name, progress in self.followers.items():
            progress.beat()
            self._heartbeat(name, progress, answer=True)

    def _heartbeat(self, name: str, progress: Progress, *, answer: bool) -> None:
        node = self.node
        commit = progress.told = min(progress.match, node.log.commit)
        node.out.append(Heartbeat(node.id, name, node.term, commit, node.log.last, progress.boot, answer))

    # --- answers

    def step(self, message: RaftMessage) -> None:
        """Take a follower's answer."""
        progress = self.followers.get(message.source)
        if progress is None or not isinstance(
            message, (AppendEntriesAccepted, AppendEntriesRejected, HeartbeatReply, InstallSnapshotReply)
        ):
            return
        if message.boot < progress.boot:
            return  # of an earlier life
        if message.boot > progress.boot:
            if progress.boot:
                progress.restarted(message.boot, self.node.log.last + 1)
            progress.boot = message.boot
        progress.heard = True
        if isinstance(message, AppendEntriesAccepted):
            self._appended(message, progress)
        elif isinstance(message, AppendEntriesRejected):
            self._refused(message, progress)
        elif isinstance(message, InstallSnapshotReply):
            self._part_taken(message, progress)
        elif progress.silent >= _SILENCE:  # it answers, but not to what was sent: that got lost
            progress.probe(progress.match + 1)

    def _appended(self, message: AppendEntriesAccepted, progress: Progress) -> None:
        log = self.node.log
        news = progress.acknowledge(message.index)
        if progress.pace is ProgressState.PROBE or (
            progress.pace is ProgressState.INSTALL and message.index >= log.base
        ):
            progress.replicate()
        if news:
            self._commit()
        if self.successor == message.source:
            self._pass_on()

    def _refused(self, message: AppendEntriesRejected, progress: Progress) -> None:
        if progress.pace is ProgressState.REPLICATE:
            if message.prev > progress.match:
                progress.probe(progress.match + 1)
            return
        if progress.pace is not ProgressState.PROBE or message.prev != progress.next - 1:
            return
        if message.hint < 0:
            progress.install(self.node.log.snapshot.index)
            return
        agreement, _ = self.node.log.agreement(message.hint, message.hint_term)
        progress.probe(max(min(message.prev, agreement + 1), progress.match + 1))

    def _part_taken(self, message: InstallSnapshotReply, progress: Progress) -> None:
        if progress.pace is not ProgressState.INSTALL or message.index != progress.snapshot:
            return
        progress.taken = message.offset

    def written(self) -> None:
        """What is durable here counts."""
        self._commit()

    def _commit(self) -> None:
        node = self.node
        log = node.log
        members = log.members
        reached = sorted(log.stable if voter == node.id else self._match(voter) for voter in members.voters)
        index = reached[-members.quorum]
        if index <= log.commit or log.term(index) != node.term or not log.commit_to(index):
            return
        if log.members_index <= log.commit:
            for gone in [name for name in self.followers if name not in members.all]:
                del self.followers[gone]
            if node.id not in members.voters:
                self.abdicate()
                node.follow(node.term, "")

    def _match(self, voter: str) -> int:
        progress = self.followers.get(voter)
        return progress.match if progress is not None else 0

    # --- handing over

    def hand_over(self, to: str) -> None:
        """Let `to` be elected when it has everything."""
        self.successor, self._handing_over = to, 0
        self._pass_on()

    def _pass_on(self) -> None:
        node = self.node
        if self.followers[self.successor].match == node.log.last:
            node.out.append(TimeoutNow(node.id, self.successor, node.term))

    def abdicate(self) -> None:
        """Ask the voter that has most to take over, without waiting for anything."""
        node = self.node
        others = [name for name in self.followers if name in node.members.voters]
        if others:
            best = max(others, key=lambda name: self.followers[name].match)
            node.out.append(TimeoutNow(node.id, best, node.term))

    # --- sending

    def fill(self) -> None:
        """Put into the outbox what each follower can take now."""
        for name, progress in self.followers.items():
            if progress.pace is ProgressState.INSTALL:
                self._send_parts(name, progress)
            elif progress.pace is ProgressState.PROBE:
                if not progress.waiting:
                    progress.waiting = True
                    self._send(name, progress)
            else:
                self._stream(name, progress)

    def _stream(self, name: str, progress: Progress) -> None:
        timing, last = self.node.timing, self.node.log.last
        while progress.next <= last and not progress.full(timing.window_messages, timing.window_bytes):
            if not self._send(name, progress):
                return
        if progress.told < min(progress.match, self.node.log.commit):
            self._heartbeat(name, progress, answer=False)

    def _send(self, name: str, progress: Progress) -> bool:
        """Send one message of entries; False when the log does not reach so far back any more."""
        node = self.node
        log = node.log
        prev = progress.next - 1
        prev_term = log.term(prev)
        if prev_term < 0:
            progress.install(log.snapshot.index)
            self._send_parts(name, progress)
            return False
        entries = log.slice(progress.next, node.timing.message_bytes)
        node.out.append(
            AppendEntries(
                node.id, name, node.term, prev, prev_term, entries, log.commit, log.last, progress.boot
            )
        )
        progress.told = log.commit
        if progress.pace is ProgressState.REPLICATE and entries:
            size = sum(len(entry.data) for entry in entries) + OVERHEAD * len(entries)
            progress.send(prev + len(entries), size)
        return True

    def _send_parts(self, name: str, progress: Progress) -> None:
        """Send what the window allows of the snapshot; a newer one begins anew."""
        node = self.node
        snapshot, timing = node.log.snapshot, node.timing
        if progress.snapshot != snapshot.index:
            progress.install(snapshot.index)
        size = len(snapshot.data)
        if not progress.waiting:  # a beat has passed: go on from where it says it is
            progress.waiting = True
            progress.sent = progress.taken
        end = progress.taken + timing.part_bytes * timing.part_window
        while progress.sent < min(size, end) or (size == 0 and progress.sent == 0):
            offset = progress.sent
            data = snapshot.data[offset : offset + timing.part_bytes]
            node.out.append(
                InstallSnapshot(
                    node.id,
                    name,
                    node.term,
                    snapshot.index,
                    snapshot.term,
                    snapshot.members,
                    offset,
                    size,
                    data,
                    node.log.last,
                    progress.boot,
                )
            )
            progress.sent = offset + max(len(data), 1)
