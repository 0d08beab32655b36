"""RawNode: one member of one group; what other folders use of this one.

It is driven from outside: `step` for a message, `tick` for time, `propose` for the application's entries; and
asked: `messages` to send now, `write` to make durable (then `written`), `committed` to apply. None of these
blocks or does I/O. Promises:

1. A vote, and the term it is in, are durable before they are sent.
2. An entry is durable here before it is acknowledged to the leader, or counted by it as its own.
3. A leader commits by majority only what its own term added, and with it all that came before.
4. Only what is committed and durable here is given to be applied, in order, once in this process.
5. A member that may have lost what it vouched for (`HardState.recovering`) neither votes nor campaigns; see
   `follower`.
6. A failed member (`fail`) sends and does nothing more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from random import Random

from .candidate import Candidate
from .entry import Entry, EntryType
from .follower import Follower
from .leader import Leader
from .log import RaftLog, Snapshot
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
from .state import HardState
from .storage_append import StorageAppend

FROM_LEADER = (AppendEntries, Heartbeat, InstallSnapshot)


class RaftState(StrEnum):
    """What a member is just now."""

    FOLLOWER = "follower"
    CANDIDATE = "candidate"
    LEADER = "leader"
    FAILED = "failed"


class NotLeaderError(Exception):
    """Only a leader that is not handing over takes proposals. leader: its id, "" if unknown."""

    def __init__(self, leader: str) -> None:
        super().__init__(f"the leader is {leader}" if leader else "there is no leader")
        self.leader = leader


@dataclass(frozen=True, slots=True)
class RaftConfig:
    """Times in ticks; sizes in bytes.

    An election is called after `election` to twice as many ticks without a leader. window_*: what may be
    under way to one follower. keep: entries that are kept before a snapshot for followers that are a little
    late.
    """

    heartbeat: int = 1
    election: int = 10
    message_bytes: int = 512 * 1024
    window_messages: int = 64
    window_bytes: int = 8 * 1024 * 1024
    part_bytes: int = 128 * 1024
    part_window: int = 4
    keep: int = 1000


@dataclass(frozen=True, slots=True)
class CommittedEntries:
    """To be applied, in this order. snapshot: replaces all state there is. first: the index of entries[0]."""

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
    """See the module. `log` and `state` are as they were read from the disk; state.boot is this process's.

    now: in ticks; leaders that count alike beat alike.
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
        self.state = state
        self.timing = timing or RaftConfig()
        self.random = random
        self.now = now
        self.outgoing: list[RaftMessage] = []
        self._durable = state
        self._late: list[RaftMessage] = []
        self._writing: StorageAppend | None = None
        self._restored: Snapshot | None = None  # from a leader, to be written
        self._to_apply: Snapshot | None = None
        self.failure = ""
        self.observer = False
        self.agreed = (0, 0)  # (term, index): so far the log is known to be that term's leader's
        self.role: Follower | Candidate | Leader = Follower(self, "")

    # --- what it is

    @property
    def term(self) -> int:
        """The latest term it has seen."""
        return self.state.term

    @property
    def durable(self) -> HardState:
        """What is known to be remembered."""
        return self._durable

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
    def kind(self) -> RaftState:
        """Its role in a word."""
        if self.failure:
            return RaftState.FAILED
        if isinstance(self.role, Leader):
            return RaftState.LEADER
        return RaftState.CANDIDATE if isinstance(self.role, Candidate) else RaftState.FOLLOWER

    @property
    def may_campaign(self) -> bool:
        """Whether it may ask to be elected: an observer votes, and does not.

        Who is to leave may be the only one that can be, until that is committed (thesis 4.2.2).
        """
        log = self.log
        votes = self.id in log.members.voters or (
            log.members_index > log.commit and self.id in log.members_at(log.commit).voters
        )
        return votes and not self.state.recovering and not self.observer

    @property
    def accepts(self) -> bool:
        """Whether it takes proposals: it leads, and is not handing over."""
        return not self.failure and isinstance(self.role, Leader) and not self.role.lead_transferee

    def matches(self) -> dict[str, int]:
        """Up to where the others' logs are known to be durable; {} for who does not lead."""
        role = self.role
        return {name: p.match for name, p in role.followers.items()} if isinstance(role, Leader) else {}

    # --- input

    def tick(self) -> None:
        """A tick of time has passed."""
        self.now += 1
        if not self.failure:
            self.role.tick()

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
        if message.term > self.term and not (
            isinstance(message, RequestVoteReply) and message.pre and message.granted
        ):
            self.follow(message.term, message.source if isinstance(message, FROM_LEADER) else "")
        elif message.term < self.term:
            if isinstance(message, FROM_LEADER):  # it has been replaced and does not know
                self.reply(HeartbeatReply(self.id, message.source, self.term, boot=self.state.boot))
            return
        if isinstance(message, FROM_LEADER) and not isinstance(self.role, Follower):
            self.follow(message.term, message.source)
        self.role.step(message)

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

        Given up after an election's time. Raises NotLeaderError, MembersError.
        """
        leader = self._leading()
        if to not in self.members.voters or to == self.id:
            raise MembersError(f"{to} cannot take over")
        leader.transfer_leadership(to)

    def compact(self, snapshot: Snapshot) -> int:
        """The application's state up to snapshot.index is durable elsewhere: let go of entries.

        Gives the new base: the first index that is still needed is the next. Raises ValueError.
        """
        self.log.compact(snapshot, self.timing.keep)
        return self.log.base

    def fail(self, why: str) -> None:
        """The disk, or what is applied to, cannot be trusted any more: be silent from here on.

        A leader's last word asks the follower that is furthest to take over.
        """
        if self.failure:
            return
        self.outgoing = []
        if isinstance(self.role, Leader):
            self.role.step_down()
        self.failure = why

    # --- output

    def messages(self) -> list[RaftMessage]:
        """What may be sent now."""
        if not self.failure and isinstance(self.role, Leader):
            self.role.fill()
        out, self.outgoing = self.outgoing, []
        return out

    def may_wait(self, message: RaftMessage) -> bool:
        """Whether a message can be sent a little later: it only confirms that this member still follows."""
        known = message.to == self.leader and not self.state.recovering
        return known and isinstance(message, HeartbeatReply)

    def write(self) -> StorageAppend | None:
        """What is to be made durable now; None while there is nothing, or an earlier one is not `written`."""
        if self._writing is not None or self.failure:
            return None
        log = self.log
        state = self.state if self.state != self._durable else None
        first = log.unwritten
        entries = log.entries[first - log.base - 1 :]
        late, self._late = self._late, []
        if state is None and not entries and self._restored is None:
            self.outgoing += late
            return None
        log.unwritten = log.last + 1
        self._writing = StorageAppend(self._restored, first, entries, state, late)
        self._restored = None
        return self._writing

    def written(self) -> None:
        """The last `write` is durable."""
        write, self._writing = self._writing, None
        if write is None or self.failure:
            return
        if write.state is not None:
            self._durable = write.state
        if write.snapshot is not None:
            self.log.written_to(write.snapshot.index, write.snapshot.term)
        if write.entries:
            self.log.written_to(write.first + len(write.entries) - 1, write.entries[-1].term)
        self.outgoing += [message for message in write.then if message.term >= self.term]
        self.role.written()

    def committed(self, most_bytes: int = 1 << 30) -> CommittedEntries | None:
        """What is to be applied next, None for nothing. Giving it counts as having applied it."""
        log = self.log
        snapshot = None
        if self._to_apply is not None and log.stable >= self._to_apply.index:
            snapshot, self._to_apply = self._to_apply, None
        end = min(log.commit, log.stable)
        first = log.applied + 1
        if first > end or self.failure or self._to_apply is not None:
            return CommittedEntries(snapshot, first, ()) if snapshot is not None else None
        entries = log.slice(first, most_bytes)[: end - log.applied]
        log.applied += len(entries)
        return CommittedEntries(snapshot, first, entries)

    # --- for the roles

    def reply(self, message: RaftMessage) -> None:
        """Send, once the state it speaks of is durable."""
        (self.outgoing if self.state == self._durable else self._late).append(message)

    def set_state(
        self, *, term: int | None = None, vote: str | None = None, recovering: bool | None = None
    ) -> None:
        """Change what is to be remembered."""
        old = self.state
        self.state = HardState(
            old.term if term is None else term,
            old.vote if vote is None else vote,
            old.boot,
            old.recovering if recovering is None else recovering,
        )

    def follow(self, term: int, leader: str) -> None:
        """Become a follower in `term`."""
        if term > self.term:
            self.set_state(term=term, vote="")
        self.role = Follower(self, leader)

    def campaign(self, *, pre: bool, transfer: bool = False) -> None:
        """Ask for votes, or first whether there would be any."""
        self.role = Candidate(self, pre=pre, transfer=transfer)
        self.role.start()

    def lead(self) -> None:
        """The votes are there."""
        self.role = Leader(self)
        self.role.start()

    def take_snapshot(self, snapshot: Snapshot) -> None:
        """A leader's snapshot has arrived whole."""
        self.log.restore(snapshot)
        self._restored = self._to_apply = snapshot

    def _leading(self) -> Leader:
        if self.failure or not isinstance(self.role, Leader) or self.role.lead_transferee:
            raise NotLeaderError("" if self.is_leader else self.leader)
        return self.role

    def _vote_requested(self, message: RequestVote) -> None:
        """A candidate asks. While a leader is active it is refused (thesis 6.2), except in a transfer."""
        if message.term > self.term and not message.transfer and self.role.leased:
            return
        if message.term > self.term and not message.pre:
            self.follow(message.term, "")
        granted = (
            not self.state.recovering
            and message.term >= self.term
            and self.log.up_to_date(message.last, message.last_term)
            and (
                message.term > self.term
                if message.pre
                else isinstance(self.role, Follower) and self.state.vote in ("", message.source)
            )
        )
        if granted and not message.pre:
            self.set_state(vote=message.source)
            self.role.elapsed = 0
        term = message.term if granted else self.term
        self.reply(RequestVoteReply(self.id, message.source, term, message.pre, granted))
