"""The candidate: asks first whether it would be elected (pre-vote, thesis 9.6), and then for the votes."""

from __future__ import annotations

from .message import RaftMessage, RequestVote, RequestVoteReply
from .raft import Raft
from .roles import Event, RaftState


class Candidate:
    """One campaign of a member that wants to become leader.

    state: `PRE_CANDIDATE` while it only asks what the others would do, and nothing has changed yet;
        `CANDIDATE` once it has begun a new term and voted for itself.
    leader: always "", since no leader of this term is known.
    leased: always False, since a candidate protects nobody from an election.
    elapsed: ticks since the campaign began.
    """

    leader = ""
    leased = False

    def __init__(self, raft: Raft, *, pre: bool, transfer: bool) -> None:
        self.state = RaftState.PRE_CANDIDATE if pre else RaftState.CANDIDATE
        self.elapsed = 0
        self._raft = raft
        self._pre = pre
        self._transfer = transfer  # the leader itself wants this election
        self._timeout = raft.election_timeout()
        self._votes: dict[str, bool] = {}  # by member, the first answer of each

    def start(self) -> None:
        """Ask every voter. A real campaign raises the term and votes for itself first."""
        raft = self._raft
        if not self._pre:
            raft.set_hard_state(term=raft.term + 1, vote=raft.id)
        term = raft.term + 1 if self._pre else raft.term
        log = raft.log
        for voter in sorted(raft.members.voters - {raft.id}):
            raft.send_when_durable(
                RequestVote(raft.id, voter, term, self._pre, log.last, log.last_term, self._transfer)
            )
        if self._pre:
            self._count(raft.id, granted=True)

    def tick(self) -> None:
        """Ask for another campaign when nobody has won within an election timeout."""
        self.elapsed += 1
        if self.elapsed >= self._timeout:
            self._raft.event = Event.ELECTION_TIMEOUT if self._raft.may_campaign else Event.CANNOT_WIN

    def step(self, message: RaftMessage) -> None:
        """Count a voter's answer. Ignore any other message, and a grant for another term."""
        if not isinstance(message, RequestVoteReply) or message.pre != self._pre:
            return
        asked = self._raft.term + 1 if self._pre else self._raft.term
        if message.granted and message.term != asked:
            return
        self._count(message.source, granted=message.granted)

    def written(self) -> None:
        """Count the member's own vote, once it is durable."""
        raft = self._raft
        if not self._pre and raft.hard_state == raft.durable:
            self._count(raft.id, granted=True)

    def _count(self, voter: str, *, granted: bool) -> None:
        self._votes.setdefault(voter, granted)
        members = self._raft.members
        votes = [self._votes[each] for each in members.voters if each in self._votes]
        if votes.count(True) >= self._raft.quorum:
            self._raft.event = Event.QUORUM_GRANTED
        elif votes.count(False) >= members.quorum:
            self._raft.event = Event.CANNOT_WIN
