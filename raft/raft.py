"""Raft: the state of a member that does not depend on its role, and what every role may do with it.

`Follower`, `Candidate` and `Leader` know this class but not each other. `RawNode` owns it and the role.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from .entry import HardState, Snapshot
from .log import RaftLog
from .members import Members
from .message import RaftMessage
from .roles import Event


@dataclass(frozen=True, slots=True)
class RaftConfig:
    """How a member behaves. Times are in ticks, sizes in bytes.

    heartbeat: a leader sends heartbeats at every multiple of this.
    election: the shortest election timeout. Each timeout is chosen at random between it and twice as much. A
        leader steps down if no majority has answered for this long.
    max_size_per_msg: about how many bytes of entries go into one message.
    max_inflight_msgs, max_inflight_bytes: how much of the log may be under way to one follower.
    part_bytes: how many bytes of a snapshot go into one message.
    part_window: how many parts of a snapshot may be under way to one follower.
    keep: how many entries before a snapshot stay in the log, for followers that are a little behind.
    """

    heartbeat: int = 1
    election: int = 10
    max_size_per_msg: int = 512 * 1024
    max_inflight_msgs: int = 64
    max_inflight_bytes: int = 8 * 1024 * 1024
    part_bytes: int = 128 * 1024
    part_window: int = 4
    keep: int = 1000


class Raft:
    """The state of one member.

    id: the id of the member. It never changes, and no two members ever have the same one.
    log: the entries, and how far they are durable here, committed and applied.
    hard_state: what must be remembered. A message that depends on it goes through `send_when_durable`.
    durable: the hard state that is known to be on the disk. It is never newer than `hard_state`.
    config: the settings, which are the same for all members of a group.
    random: the only source of randomness. Election timeouts are drawn from it.
    now: the time in ticks. Leaders of several groups that count alike send heartbeats at the same ticks.
    observer: whether this member votes but does not campaign.
    lowered: how many voters suffice here for elections and commits, though they are no majority; 0 for none.
    verified: (term, index): up to `index` the log is known to be the same as that of the leader of `term`. It
        is valid only while `term` is the present one.
    outgoing: messages that may be sent now, since nothing in them depends on what is not durable. It is
        always the same list object.
    after_append: messages that wait until `hard_state` is durable. The next write takes them.
    to_write: a leader's snapshot that has arrived completely and is in no write yet.
    to_apply: the same snapshot, until the application has received it. No entry is applied before that.
    event: why the role has to change, None while it need not. `RawNode` looks at it after each call of a
        role.
    """

    __slots__ = (
        "after_append",
        "config",
        "durable",
        "event",
        "hard_state",
        "id",
        "log",
        "lowered",
        "now",
        "observer",
        "outgoing",
        "random",
        "to_apply",
        "to_write",
        "verified",
    )

    def __init__(
        self, name: str, log: RaftLog, hard_state: HardState, config: RaftConfig, random: Random, now: int
    ) -> None:
        self.id = name
        self.log = log
        self.hard_state = self.durable = hard_state
        self.config = config
        self.random = random
        self.now = now
        self.observer = False
        self.lowered = 0
        self.verified = (0, 0)
        self.outgoing: list[RaftMessage] = []
        self.after_append: list[RaftMessage] = []
        self.to_write: Snapshot | None = None
        self.to_apply: Snapshot | None = None
        self.event: Event | None = None

    @property
    def term(self) -> int:
        """The latest term that the member has seen."""
        return self.hard_state.term

    @property
    def members(self) -> Members:
        """The configuration in force: the newest in the log, committed or not (thesis 4.1)."""
        return self.log.members

    @property
    def quorum(self) -> int:
        """How many voters suffice for elections and commits: a majority, unless it is `lowered`."""
        majority = self.log.members.quorum
        return min(self.lowered or majority, majority)

    @property
    def may_campaign(self) -> bool:
        """Whether the member may ask to be elected.

        It must be a voter, and neither recovering nor an observer. A voter that is being removed may still be
        the only member that can be elected until its removal is committed (thesis 4.2.2).
        """
        log = self.log
        votes = self.id in log.members.voters or (
            log.members_index > log.commit and self.id in log.members_at(log.commit).voters
        )
        return votes and not self.hard_state.recovering and not self.observer

    def election_timeout(self) -> int:
        """Draw a new election timeout, in ticks.

        Different timeouts keep votes from being split (thesis 3.4).
        """
        election = self.config.election
        return election + self.random.randrange(election)

    def send_when_durable(self, message: RaftMessage) -> None:
        """Send `message` once the hard state is durable."""
        (self.outgoing if self.hard_state == self.durable else self.after_append).append(message)

    def set_hard_state(
        self, *, term: int | None = None, vote: str | None = None, recovering: bool | None = None
    ) -> None:
        """Change what must be remembered. None leaves a field as it is."""
        old = self.hard_state
        self.hard_state = HardState(
            old.term if term is None else term,
            old.vote if vote is None else vote,
            old.boot,
            old.recovering if recovering is None else recovering,
        )

    def install(self, snapshot: Snapshot) -> None:
        """Replace the whole log by a leader's snapshot that has arrived."""
        self.log.restore(snapshot)
        self.to_write = self.to_apply = snapshot
