"""The leader: brings the followers' logs up to its own, and commits what a majority has.

A proposal is not sent at once. When the caller fetches messages, `send_appends` makes for each follower one
message of everything proposed since the last one. So the busier a group is, the more goes into one message.
"""

from __future__ import annotations

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
from .raft import Raft
from .roles import Event, RaftState

_SILENCE = 3  # heartbeats without an acknowledgement, after which the messages under way count as lost


class Leader:
    """One leadership, from the election to the end of its term here.

    leader: the id of this member.
    leased: always True, because a leader steps down by itself when no majority answers.
    elapsed: ticks since the leader last checked that a majority answers.
    lead_transferee: the member that it hands the leadership over to, "" for nobody.
    followers: the progress of every other member of the newest configuration. Until that configuration is
        committed, the members of the one before it are here too.
    """

    state = RaftState.LEADER
    leased = True

    def __init__(self, raft: Raft) -> None:
        self.leader = raft.id
        self.elapsed = 0
        self.lead_transferee = ""
        self.followers: dict[str, Progress] = {}
        self._raft = raft
        self._transfer_elapsed = 0  # ticks since the transfer began

    def start(self) -> None:
        """Begin the term with an empty entry, through which earlier entries can be committed."""
        self.members_changed()
        self._raft.log.append([Entry(self._raft.term, EntryType.EMPTY, b"")])
        self._broadcast_heartbeat()

    def members_changed(self) -> None:
        """Add the new members of the newest configuration.

        Removed ones are forgotten when it is committed.
        """
        last = self._raft.log.last
        for member in sorted(self._raft.members.all - {self._raft.id}):
            if member not in self.followers:
                self.followers[member] = Progress(next=last + 1, recent_active=True)

    # --- time

    def tick(self) -> None:
        """Send heartbeats, step down when no majority answers, and give up a transfer that takes too long."""
        self.elapsed += 1
        if self.lead_transferee:
            self._transfer_elapsed += 1
            if self._transfer_elapsed >= self._raft.config.election:
                self.lead_transferee = ""
        if self.elapsed >= self._raft.config.election:
            self.elapsed = 0
            if not self._has_quorum():
                self._raft.event = Event.QUORUM_SILENT
                return
        if self._raft.now % self._raft.config.heartbeat == 0:
            self._broadcast_heartbeat()

    def _has_quorum(self) -> bool:
        members = self._raft.members
        active = {name for name, progress in self.followers.items() if progress.recent_active} | {
            self._raft.id
        }
        for progress in self.followers.values():
            progress.recent_active = False
        return len(active & members.voters) >= self._raft.quorum

    def _broadcast_heartbeat(self) -> None:
        for name, progress in self.followers.items():
            progress.heartbeat_sent()
            self._heartbeat(name, progress, answer=True)

    def _heartbeat(self, name: str, progress: Progress, *, answer: bool) -> None:
        raft = self._raft
        commit = progress.sent_commit = min(progress.match, raft.log.commit)
        raft.outgoing.append(
            Heartbeat(raft.id, name, raft.term, commit, raft.log.last, progress.boot, answer)
        )

    # --- answers

    def step(self, message: RaftMessage) -> None:
        """Take the answer of a follower."""
        progress = self.followers.get(message.source)
        if progress is None or not isinstance(
            message, (AppendEntriesAccepted, AppendEntriesRejected, HeartbeatReply, InstallSnapshotReply)
        ):
            return
        if message.boot < progress.boot:
            return  # an answer from before the follower's last restart
        if message.boot > progress.boot:
            if progress.boot:
                progress.restarted(message.boot, self._raft.log.last + 1)
            progress.boot = message.boot
        progress.recent_active = True
        if isinstance(message, AppendEntriesAccepted):
            self._accepted(message, progress)
        elif isinstance(message, AppendEntriesRejected):
            self._rejected(message, progress)
        elif isinstance(message, InstallSnapshotReply):
            self._snapshot_part_acked(message, progress)
        elif progress.unanswered_beats >= _SILENCE:  # it answers heartbeats only: the entries got lost
            progress.become_probe(progress.match + 1)

    def _accepted(self, message: AppendEntriesAccepted, progress: Progress) -> None:
        log = self._raft.log
        news = progress.maybe_update(message.index)
        if progress.state is ProgressState.PROBE or (
            progress.state is ProgressState.SNAPSHOT and message.index >= log.base
        ):
            progress.become_replicate()
        if news:
            self._commit()
        if self.lead_transferee == message.source:
            self._send_timeout_now()

    def _rejected(self, message: AppendEntriesRejected, progress: Progress) -> None:
        if progress.state is ProgressState.REPLICATE:
            if message.prev > progress.match:
                progress.become_probe(progress.match + 1)
            return
        if progress.state is not ProgressState.PROBE or message.prev != progress.next - 1:
            return
        if message.hint < 0:  # the follower has no log to build on: it needs the snapshot
            progress.become_snapshot(self._raft.log.snapshot.index)
            return
        shared, _ = self._raft.log.find_conflict_by_term(message.hint, message.hint_term)
        progress.become_probe(max(min(message.prev, shared + 1), progress.match + 1))

    def _snapshot_part_acked(self, message: InstallSnapshotReply, progress: Progress) -> None:
        if progress.state is not ProgressState.SNAPSHOT or message.index != progress.pending_snapshot:
            return
        progress.snapshot_acked = message.offset

    def written(self) -> None:
        """Count what is durable here towards the majority."""
        self._commit()

    def _commit(self) -> None:
        raft = self._raft
        log = raft.log
        members = log.members
        reached = sorted(log.stable if voter == raft.id else self._match(voter) for voter in members.voters)
        index = reached[-raft.quorum]
        if index <= log.commit or log.term(index) != raft.term or not log.commit_to(index):
            return
        if log.members_index <= log.commit:
            for gone in [name for name in self.followers if name not in members.all]:
                del self.followers[gone]
            if raft.id not in members.voters:
                self.transfer_to_most_current()
                raft.event = Event.REMOVED

    def _match(self, voter: str) -> int:
        progress = self.followers.get(voter)
        return progress.match if progress is not None else 0

    # --- handing over

    def transfer_leadership(self, to: str) -> None:
        """Let `to` be elected as soon as it has the whole log."""
        self.lead_transferee, self._transfer_elapsed = to, 0
        self._send_timeout_now()

    def _send_timeout_now(self) -> None:
        raft = self._raft
        if self.followers[self.lead_transferee].match == raft.log.last:
            raft.outgoing.append(TimeoutNow(raft.id, self.lead_transferee, raft.term))

    def transfer_to_most_current(self) -> None:
        """Let the voter with the longest matching log campaign now (TimeoutNow), without waiting for more."""
        raft = self._raft
        others = [name for name in self.followers if name in raft.members.voters]
        if others:
            best = max(others, key=lambda name: self.followers[name].match)
            raft.outgoing.append(TimeoutNow(raft.id, best, raft.term))

    # --- sending

    def send_appends(self) -> None:
        """Put the messages that each follower can take now into `outgoing`."""
        for name, progress in self.followers.items():
            if progress.state is ProgressState.SNAPSHOT:
                self._send_snapshot(name, progress)
            elif progress.state is ProgressState.PROBE:
                if not progress.probe_sent:
                    progress.probe_sent = True
                    self._send(name, progress)
            else:
                self._replicate_to(name, progress)

    def _replicate_to(self, name: str, progress: Progress) -> None:
        config, last = self._raft.config, self._raft.log.last
        while progress.next <= last and not progress.full(
            config.max_inflight_msgs, config.max_inflight_bytes
        ):
            if not self._send(name, progress):
                return
        if progress.sent_commit < min(progress.match, self._raft.log.commit):
            self._heartbeat(name, progress, answer=False)

    def _send(self, name: str, progress: Progress) -> bool:
        """Send one message of entries.

        If the log no longer reaches back that far, send the snapshot instead, and return False.
        """
        raft = self._raft
        log = raft.log
        prev = progress.next - 1
        prev_term = log.term(prev)
        if prev_term < 0:
            progress.become_snapshot(log.snapshot.index)
            self._send_snapshot(name, progress)
            return False
        entries = log.slice(progress.next, raft.config.max_size_per_msg)
        raft.outgoing.append(
            AppendEntries(
                raft.id, name, raft.term, prev, prev_term, entries, log.commit, log.last, progress.boot
            )
        )
        progress.sent_commit = log.commit
        if progress.state is ProgressState.REPLICATE and entries:
            size = sum(len(entry.data) for entry in entries) + OVERHEAD * len(entries)
            progress.sent_entries(prev + len(entries), size)
        return True

    def _send_snapshot(self, name: str, progress: Progress) -> None:
        """Send as much of the snapshot as the window allows. A newer snapshot starts from the beginning."""
        raft = self._raft
        snapshot, config = raft.log.snapshot, raft.config
        if progress.pending_snapshot != snapshot.index:
            progress.become_snapshot(snapshot.index)
        size = len(snapshot.data)
        if not progress.probe_sent:  # a heartbeat has passed: continue from what the follower acknowledged
            progress.probe_sent = True
            progress.snapshot_sent = progress.snapshot_acked
        end = progress.snapshot_acked + config.part_bytes * config.part_window
        while progress.snapshot_sent < min(size, end) or (size == 0 and progress.snapshot_sent == 0):
            offset = progress.snapshot_sent
            data = snapshot.data[offset : offset + config.part_bytes]
            raft.outgoing.append(
                InstallSnapshot(
                    raft.id,
                    name,
                    raft.term,
                    snapshot.index,
                    snapshot.term,
                    snapshot.members,
                    offset,
                    size,
                    data,
                    raft.log.last,
                    progress.boot,
                )
            )
            progress.snapshot_sent = offset + max(len(data), 1)
