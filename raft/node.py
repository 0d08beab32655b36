"""RawNode: one member of one group; what other folders use of this one.

It is driven from outside: `step` for a message, `tick` for time, `propose` for the application's entries; and
asked: `messages` to send now, `write` to make durable (then `written`), `committed` to apply. None of these
blocks or does I/O. Promises:

1. A vote, and the term it is in, are durable before they are sent.
2. An entry is durable here before it is acknowledged to the leader, or counted by it as its own.
3. A leader commits by majority only what its own term added, and with it all that came before.
4. Only what is committed and durable here is given to be applied, in order, once in this process.
5. A member that may have lost what it acknowledged (`HardState.recovering`) neither votes nor campaigns; see
   `follower`.
6. A failed member (`fail`) sends and does nothing more.
7. Roles change as the table in `roles` says, and in no other way.
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
    """Only a leader that is not handing over takes proposals. leader: its id, "" if unknown."""

    def __init__(self, leader: str) -> None:
        super().__init__(f"the leader is {leader}" if leader else "there is no leader")
        self.leader = leader


@dataclass(frozen=True, slots=True)
class StorageAppend:
    """What is to be made durable, in this order: hard state, snapshot, entries; then `RawNode.written`.

    The hard state comes first: an entry must not be durable with a term that the member could vote in again.

    snapshot: replaces the whole log; None: there is none.
    first: from this index on, `entries` replace what the log on the disk holds.
    entries: they follow each other without a gap.
    state: None when it has not changed.
    then: messages that may be sent when all is durable; `RawNode.written` releases them.
    """

    snapshot: Snapshot | None
    first: int
    entries: Sequence[Entry]
    state: HardState | None
    then: Sequence[RaftMessage]


@dataclass(frozen=True, slots=True)
class CommittedEntries:
    """What is to be applied, in this order.

    snapshot: replaces all state that there is; None: there is none.
    first: the index of entries[0].
    entries: they follow what was given before, or the snapshot, without a gap.
    """

    snapshot: Snapshot | None
    first: int
    entries: Sequence[Entry]

    def data(self, *, after: int) -> list[tuple[int, bytes]]:
        """(index, data) of the application's entries after an index."""
        return [
            (index, entry.data)
            for index, entry in enumerate(self.entries, self.first)
            if entry.kind == EntryType.DATA and index > after
        ]


class RawNode:
    """See the module.

    id, log, outgoing: as in `Raft`. The log and the hard state are given as they were read from the disk;
        `HardState.boot` is that of this process.
    role: the present role.
    failure: why the member has failed, "" while it has not.
    """

    def __init__(
        self,
        name: str,
        log: RaftLog,
        state: HardState,
        *,
        timing: RaftConfig | None = None,
        random: Random,
        now: int = 0,
    ) -> None:
        self.id = name
        self.log = log
        self.failure = ""
        self._raft = Raft(name, log, state, timing or RaftConfig(), random, now)
        self.outgoing = self._raft.outgoing
        self._writing: StorageAppend | None = None  # the write that is under way
        self.role: Follower | Candidate | Leader = Follower(self._raft, "")

    # --- what it is

    @property
    def term(self) -> int:
        """The latest term it has seen."""
        return self._raft.hard_state.term

    @property
    def durable(self) -> HardState:
        """The hard state that is known to be on the disk."""
        return self._raft.durable

    @property
    def recovering(self) -> bool:
        """Whether it has to catch up with a leader before it votes; see `HardState`."""
        return self._raft.hard_state.recovering

    @property
    def members(self) -> Members:
        """The configuration that counts."""
        return self.log.members

    @property
    def leader(self) -> str:
        """The leader of this term as far as known, "" otherwise."""
        return "" if self.failure else self.role.leader

    @property
    def is_leader(self) -> bool:
        """Whether it leads."""
        return not self.failure and isinstance(self.role, Leader)

    @property
    def accepts(self) -> bool:
        """Whether it takes proposals: it leads, and is not handing over."""
        return not self.failure and isinstance(self.role, Leader) and not self.role.lead_transferee

    def matches(self) -> dict[str, int]:
        """Up to which index each other member's log is known to be durable; {} unless it leads."""
        role = self.role
        return {name: p.match for name, p in role.followers.items()} if isinstance(role, Leader) else {}

    def observe(self, observer: bool) -> None:
        """Set whether this member only votes and does not campaign."""
        self._raft.observer = observer

    # --- input

    def tick(self) -> bool:
        """A tick of time has passed. Gives whether there is something to send, or the role has changed."""
        raft, role = self._raft, self.role
        raft.now += 1
        if not self.failure:
            role.tick()
            if raft.event is not None:
                self._change_role()
        return bool(self.outgoing) or self.role is not role

    def campaign_soon(self, ticks: int) -> None:
        """The leader is known to be gone, or there was none yet: call an election after so many ticks.

        Members that get different numbers do not split the votes.
        """
        if not self.failure and isinstance(self.role, Follower):
            self.role.campaign_soon(ticks)

    def step(self, message: RaftMessage) -> None:
        """Take a message. One that is stale or makes no sense is dropped."""
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
            if isinstance(message, FROM_LEADER):  # it has been replaced and does not know
                boot = raft.hard_state.boot
                raft.send_when_durable(HeartbeatReply(self.id, message.source, raft.term, boot=boot))
            return
        if isinstance(message, FROM_LEADER) and not isinstance(self.role, Follower):
            self._become(Event.CURRENT_LEADER, message.source)
        self.role.step(message)
        if raft.event is not None:
            self._change_role()

    def propose(self, data: Sequence[bytes]) -> tuple[int, int]:
        """Append to the log of the group; gives (index of the first, term).

        The proposals are accepted when `committed` gives these indexes with this term, and lost for certain
        when it gives one of them with another. Raises NotLeaderError.
        """
        self._leading()
        term = self.term
        first = self.log.last + 1
        self.log.append([Entry(term, EntryType.DATA, each) for each in data])
        return first, term

    def change_members(self, members: Members) -> tuple[int, int]:
        """Propose another configuration; (index, term) as for `propose`.

        Raises NotLeaderError, MembersError (also while a change is under way, and before this leader has
        committed anything).
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
        """Hand the leadership over to a voter, as soon as it has everything; proposals wait outside.

        Given up after `RaftConfig.election` ticks. Raises NotLeaderError, MembersError.
        """
        leader = self._leading()
        if to not in self.members.voters or to == self.id:
            raise MembersError(f"{to} cannot take over")
        leader.transfer_leadership(to)

    def compact(self, snapshot: Snapshot) -> int:
        """The application's state up to snapshot.index is durable elsewhere: let go of entries.

        Gives the new base: the first index that is still needed is the next. Raises ValueError.
        """
        self.log.compact(snapshot, self._raft.config.keep)
        return self.log.base

    def fail(self, why: str) -> None:
        """The disk, or what is applied to, cannot be trusted any more: be silent from here on.

        A leader's last message asks the follower that has most to take over.
        """
        if self.failure:
            return
        self.outgoing.clear()
        if isinstance(self.role, Leader):
            self.role.step_down()
        self.failure = why

    # --- output

    def messages(self) -> list[RaftMessage]:
        """What may be sent now."""
        if not self.failure and isinstance(self.role, Leader):
            self.role.fill()
        if not self.outgoing:
            return []
        out = self.outgoing.copy()
        self.outgoing.clear()
        return out

    def may_wait(self, message: RaftMessage) -> bool:
        """Whether a message can be sent a little later: it only confirms that this member still follows."""
        known = message.to == self.leader and not self._raft.hard_state.recovering
        return known and isinstance(message, HeartbeatReply)

    def write(self) -> StorageAppend | None:
        """What is to be made durable now; None while there is nothing, or an earlier one is not `written`."""
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
        """The last `write` is durable."""
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
        """What is to be applied next, None for nothing. Giving it counts as having applied it."""
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
        """Do what the role asked for; a new role may ask for another one as soon as it begins."""
        raft = self._raft
        while (event := raft.event) is not None:
            raft.event = None
            self._become(event)

    def _become(self, event: Event, leader: str = "") -> None:
        """Change the role, as the table says."""
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
        """Another member is ahead: follow in its term."""
        self._raft.set_hard_state(term=term, vote="")
        self._become(Event.HIGHER_TERM, leader)

    def _leading(self) -> Leader:
        if self.failure or not isinstance(self.role, Leader) or self.role.lead_transferee:
            raise NotLeaderError("" if self.is_leader else self.leader)
        return self.role

    def _vote_requested(self, message: RequestVote) -> None:
        """A candidate asks. While a leader is active it is refused (thesis 4.2.3), except in a transfer."""
        raft = self._raft
        if message.term > raft.term and not message.transfer and self.role.leased:
            return
        if message.term > raft.term and not message.pre:
            self._higher_term(message.term, "")
        state = raft.hard_state
        granted = (
            not state.recovering
            and message.term >= state.term
            and self.log.up_to_date(message.last, message.last_term)
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
