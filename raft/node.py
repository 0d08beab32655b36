"""RawNode: one member of one group, and the part of this folder that others use.

The caller drives it: `step` takes a message, `tick` lets time pass, `propose` takes entries of the
application. It then asks for what must be done: `messages` to send now, `write` to make durable (followed by
`written`), and `committed` to apply. None of these blocks or does I/O. Promises:

1. A vote, and the term it is in, are durable before they are sent.
2. An entry is durable here before it is acknowledged to the leader, or counted by the leader as its own.
3. A leader commits by majority only entries of its own term, and with them everything before.
4. Only entries that are committed and durable here are handed out to be applied: in order, and once in the
   life of this process.
5. A member that may have lost what it acknowledged (`HardState.recovering`) neither votes nor campaigns; see
   `follower`.
6. A failed member (`fail`) sends nothing and does nothing any more.
7. Roles change only as the table in `roles` says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from .candidate import Candidate
from .entry import Entry, EntryType, HardState, Snapshot
from .follower import Follower
from .leader import Leader
from .log import RaftLog
from .members import Members, MembersError
from .message import (
    AppendEntries,
    Heartbeat,
    HeartbeatReply,
    InstallSnapshot,
    RaftMessage,
    RequestVote,
    RequestVoteReply,
)
from .raft import Raft, RaftConfig
from .roles import TRANSITIONS, Event, RaftState

FROM_LEADER = (AppendEntries, Heartbeat, InstallSnapshot)


class NotLeaderError(Exception):
    """The member takes no proposals, because it does not lead or is handing over.

    leader: the leader's id; "" if there is none, or if it is this member, which is handing over.
    """

    def __init__(self, leader: str, *, transferring: bool = False) -> None:
        reason = f"the leader is {leader}" if leader else "there is no leader"
        super().__init__("the leader is handing over" if transferring else reason)
        self.leader = leader


@dataclass(frozen=True, slots=True)
class StorageAppend:
    """What the caller must make durable: hard state, snapshot, entries, in this order.

    The hard state comes first: an entry must not be durable with a term that the member could vote in again.
    Once everything is durable, the caller calls `RawNode.written`.

    snapshot: a snapshot that replaces the whole log; None if there is none.
    first: the index from which `entries` replace what the log on the disk holds.
    entries: entries that follow each other without a gap.
    state: the new hard state; None if it has not changed.
    then: messages that may be sent when everything is durable. `RawNode.written` releases them.
    """

    snapshot: Snapshot | None
    first: int
    entries: Sequence[Entry]
    state: HardState | None
    then: Sequence[RaftMessage]


@dataclass(frozen=True, slots=True)
class CommittedEntries:
    """What the caller must apply, in this order.

    snapshot: a snapshot that replaces the whole state; None if there is none.
    first: the index of entries[0].
    entries: entries that follow the earlier ones, or the snapshot, without a gap.
    """

    snapshot: Snapshot | None
    first: int
    entries: Sequence[Entry]

    def data(self, *, after: int) -> list[tuple[int, bytes]]:
        """Return (index, data) of each entry of the application after the index `after`."""
        return [
            (index, entry.data)
            for index, entry in enumerate(self.entries, self.first)
            if entry.kind == EntryType.DATA and index > after
        ]


class RawNode:
    """One member of one group; the head of the module has its promises.

    id, log, outgoing: as in `Raft`. The caller passes the log and the hard state as read from the disk, with
        `HardState.boot` being that of this process.
    role: the present role.
    failure: why the member has failed, "" while it has not.
    """

    def __init__(
        self,
        name: str,
        log: RaftLog,
        state: HardState,
        *,
        config: RaftConfig | None = None,
        random: Random,
        now: int = 0,
    ) -> None:
        self.id = name
        self.log = log
        self.failure = ""
        self._raft = Raft(name, log, state, config or RaftConfig(), random, now)
        self.outgoing = self._raft.outgoing
        self._writing: StorageAppend | None = None  # the write that is under way
        self.role: Follower | Candidate | Leader = Follower(self._raft, "")

    # --- what it is

    @property
    def term(self) -> int:
        """The latest term that the member has seen."""
        return self._raft.hard_state.term

    @property
    def durable(self) -> HardState:
        """The hard state that is known to be on the disk."""
        return self._raft.durable

    @property
    def recovering(self) -> bool:
        """Whether the member must catch up with a leader before it votes; see `HardState`."""
        return self._raft.hard_state.recovering

    @property
    def members(self) -> Members:
        """The configuration in force."""
        return self.log.members

    @property
    def leader(self) -> str:
        """The leader of this term, "" if none is known or the member has failed."""
        return "" if self.failure else self.role.leader

    @property
    def is_leader(self) -> bool:
        """Whether the member leads."""
        return not self.failure and isinstance(self.role, Leader)

    @property
    def accepts_proposals(self) -> bool:
        """Whether the member takes proposals: it leads and is not handing over."""
        return not self.failure and isinstance(self.role, Leader) and not self.role.lead_transferee

    def match_indexes(self) -> dict[str, int]:
        """Return the last index known to be durable at each other member; {} unless this one leads."""
        role = self.role
        return {name: p.match for name, p in role.followers.items()} if isinstance(role, Leader) else {}

    def leader_last(self, ticks: int) -> int:
        """Return the last index of the leader's log, if its last message came within so many ticks.

        Otherwise, and unless this member follows a leader, return 0.
        """
        role = self.role
        if self.failure or not isinstance(role, Follower) or not role.leader or role.elapsed > ticks:
            return 0
        return role.leader_last

    @property
    def shared(self) -> Raft:
        """What the roles share: whether this member may campaign, and how many votes suffice."""
        return self._raft

    def observe(self, observer: bool) -> None:
        """Set whether this member is an observer: it votes like the others, but never campaigns."""
        self._raft.observer = observer

    # --- input

    def tick(self) -> bool:
        """Let one tick of time pass. Return whether there is something to send, or the role has changed."""
        raft, role = self._raft, self.role
        raft.now += 1
        if not self.failure:
            role.tick()
            if raft.event is not None:
                self._change_role()
        return bool(self.outgoing) or self.role is not role

    def campaign_soon(self, ticks: int) -> None:
        """Call an election in about `ticks` ticks: the leader is gone, or there was none yet.

        Members with different numbers of ticks do not split the votes.
        """
        if not self.failure and isinstance(self.role, Follower):
            self.role.campaign_soon(ticks)

    def step(self, message: RaftMessage) -> None:
        """Take a message. A message that is stale or makes no sense is dropped."""
        if self.failure:
            return
        if isinstance(message, RequestVote):
            self._vote_requested(message)
            return
        raft = self._raft
        if message.term > raft.term and not (
            isinstance(message, RequestVoteReply) and message.pre and message.granted
        ):
            self._higher_term(message.term, message.source if isinstance(message, FROM_LEADER) else "")
        elif message.term < raft.term:
            if isinstance(message, FROM_LEADER):  # the sender has been replaced and does not know it
                boot = raft.hard_state.boot
                raft.send_when_durable(HeartbeatReply(self.id, message.source, raft.term, boot=boot))
            return
        if isinstance(message, FROM_LEADER) and not isinstance(self.role, Follower):
            self._become(Event.CURRENT_LEADER, message.source)
        self.role.step(message)
        if raft.event is not None:
            self._change_role()

    def propose(self, data: Sequence[bytes]) -> tuple[int, int]:
        """Append to the log of the group, and return the index of the first entry and the term.

        The proposals are accepted once `committed` returns these indexes with this term. They are certainly
        lost once it returns one of these indexes with another term. Raises NotLeaderError.
        """
        self._leading()
        term = self.term
        first = self.log.last + 1
        self.log.append([Entry(term, EntryType.DATA, each) for each in data])
        return first, term

    def change_members(self, members: Members) -> tuple[int, int]:
        """Propose another configuration, and return its index and the term, as `propose` does.

        Raises NotLeaderError, and MembersError if the configuration may not follow the present one, if a
        change is under way, or if this leader has not committed anything yet.
        """
        leader = self._leading()
        log = self.log
        if log.members_index > log.commit:
            raise MembersError("a change of members is under way")
        if log.term(log.commit) != self.term:
            raise MembersError("the leader is new and has committed nothing yet")
        log.members.check_next(members)
        log.append([Entry(self.term, EntryType.MEMBERS, members.encode())])
        leader.members_changed()
        return log.last, self.term

    def transfer(self, to: str) -> None:
        """Hand the leadership over to a voter as soon as it has the whole log.

        Proposals are refused meanwhile. The transfer is given up after `RaftConfig.election` ticks. Raises
        NotLeaderError, and MembersError if `to` is not another voter.
        """
        leader = self._leading()
        if to not in self.members.voters or to == self.id:
            raise MembersError(f"{to} cannot take over")
        leader.transfer_leadership(to)

    def compact(self, snapshot: Snapshot) -> int:
        """Drop entries that the snapshot covers. The application has its state up to there on the disk.

        Return the new base. The first index that is still needed is the one after it. Raises ValueError if
        the snapshot is before the base or beyond what is applied.
        """
        self.log.compact(snapshot, self._raft.config.keep)
        return self.log.base

    def fail(self, why: str) -> None:
        """Be silent from now on: the disk, or the state machine, can no longer be trusted.

        The last message of a leader asks the follower with the longest log to take over.
        """
        if self.failure:
            return
        self.outgoing.clear()
        if isinstance(self.role, Leader):
            self.role.transfer_to_most_current()
        self.failure = why

    # --- output

    def messages(self) -> list[RaftMessage]:
        """Return the messages that may be sent now, and forget them."""
        if not self.failure and isinstance(self.role, Leader):
            self.role.send_appends()
        if not self.outgoing:
            return []
        out = self.outgoing.copy()
        self.outgoing.clear()
        return out

    def may_wait(self, message: RaftMessage) -> bool:
        """Whether `message` can wait a little, because it only confirms that this member still follows."""
        known = message.to == self.leader and not self._raft.hard_state.recovering
        return known and isinstance(message, HeartbeatReply)

    def write(self) -> StorageAppend | None:
        """Return what must be made durable now; None if there is nothing, or a write is under way."""
        if self._writing is not None or self.failure:
            return None
        log, raft = self.log, self._raft
        state = raft.hard_state if raft.hard_state != raft.durable else None
        first = log.unwritten
        entries = log.entries[first - log.base - 1 :]
        then, raft.after_append = raft.after_append, []
        if state is None and not entries and raft.to_write is None:
            raft.outgoing += then
            return None
        log.unwritten = log.last + 1
        self._writing = StorageAppend(raft.to_write, first, entries, state, then)
        raft.to_write = None
        return self._writing

    def written(self) -> None:
        """Note that the last `write` is durable."""
        write, self._writing = self._writing, None
        if write is None or self.failure:
            return
        raft = self._raft
        if write.state is not None:
            raft.durable = write.state
        if write.snapshot is not None:
            self.log.written_to(write.snapshot.index, write.snapshot.term)
        if write.entries:
            self.log.written_to(write.first + len(write.entries) - 1, write.entries[-1].term)
        raft.outgoing += [message for message in write.then if message.term >= raft.term]
        self.role.written()
        if raft.event is not None:
            self._change_role()

    def committed(self, most_bytes: int = 1 << 30) -> CommittedEntries | None:
        """Return what to apply next, None if nothing. What is returned counts as applied.

        The entries are about `most_bytes` bytes at most, but at least one if there is one.
        """
        log, raft = self.log, self._raft
        snapshot = None
        if raft.to_apply is not None and log.stable >= raft.to_apply.index:
            snapshot, raft.to_apply = raft.to_apply, None
        end = min(log.commit, log.stable)
        first = log.applied + 1
        if first > end or self.failure or raft.to_apply is not None:
            return CommittedEntries(snapshot, first, ()) if snapshot is not None else None
        entries = log.slice(first, most_bytes)[: end - log.applied]
        log.applied += len(entries)
        return CommittedEntries(snapshot, first, entries)

    # --- roles

    def _change_role(self) -> None:
        """Change the role as the present one asked.

        A new role may ask for another one as soon as it begins.
        """
        raft = self._raft
        while (event := raft.event) is not None:
            raft.event = None
            self._become(event)

    def _become(self, event: Event, leader: str = "") -> None:
        """Change the role as the table says."""
        raft = self._raft
        state = TRANSITIONS[self.role.state, event]
        if state is RaftState.FOLLOWER:
            self.role = Follower(raft, leader)
        elif state is RaftState.LEADER:
            self.role = Leader(raft)
            self.role.start()
        else:
            pre, transfer = state is RaftState.PRE_CANDIDATE, event is Event.TIMEOUT_NOW
            self.role = Candidate(raft, pre=pre, transfer=transfer)
            self.role.start()

    def _higher_term(self, term: int, leader: str) -> None:
        """Follow in a later term, because another member is ahead."""
        self._raft.set_hard_state(term=term, vote="")
        self._become(Event.HIGHER_TERM, leader)

    def _leading(self) -> Leader:
        if self.failure or not isinstance(self.role, Leader) or self.role.lead_transferee:
            raise NotLeaderError("" if self.is_leader else self.leader, transferring=self.is_leader)
        return self.role

    def _vote_requested(self, message: RequestVote) -> None:
        """Answer a candidate. It is ignored while a leader is active (thesis 4.2.3), except in a transfer."""
        raft = self._raft
        if message.term > raft.term and not message.transfer and self.role.leased:
            return
        if message.term > raft.term and not message.pre:
            self._higher_term(message.term, "")
        state = raft.hard_state
        granted = (
            not state.recovering
            and message.term >= state.term
            and self.log.other_is_up_to_date(message.last, message.last_term)
            and (
                message.term > state.term
                if message.pre
                else isinstance(self.role, Follower) and state.vote in ("", message.source)
            )
        )
        if granted and not message.pre:
            raft.set_hard_state(vote=message.source)
            self.role.elapsed = 0
        term = message.term if granted else raft.term
        raft.send_when_durable(RequestVoteReply(self.id, message.source, term, message.pre, granted))
