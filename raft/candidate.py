"""Asking to be elected: first whether it would be (pre-vote, thesis 9.6), then for the votes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .message import RaftMessage, RequestVote, RequestVoteReply

if TYPE_CHECKING:
    from .node import RawNode


class Candidate:
    """One campaign. pre: nothing is changed yet, the others are only asked what they would do."""

    leader = ""
    leased = False

    def __init__(self, node: RawNode, *, pre: bool, transfer: bool) -> None:
        self.node = node
        self.pre = pre
        self.elapsed = 0
        self._transfer = transfer
        self._timeout = node.timing.election + node.random.randrange(node.timing.election)
        self._votes: dict[str, bool] = {}

    def start(self) -> None:
        """Ask everyone who votes."""
        node = self.node
        if not self.pre:
            node.set_state(term=node.term + 1, vote=node.id)
        term = node.term + 1 if self.pre else node.term
        log = node.log
        for voter in sorted(node.members.voters - {node.id}):
            node.reply(
                RequestVote(node.id, voter, term, self.pre, log.last, log.last_term, transfer=self._transfer)
            )
        if self.pre:
            self._count(node.id, granted=True)

    def tick(self) -> None:
        """Nobody won: try again."""
        self.elapsed += 1
        if self.elapsed >= self._timeout:
            if self.node.may_campaign:
                self.node.campaign(pre=True)
            else:
                self.node.follow(self.node.term, "")

    def step(self, message: RaftMessage) -> None:
        """Count an answer."""
        node = self.node
        if not isinstance(message, RequestVoteReply) or message.pre != self.pre:
            return
        asked = node.term + 1 if self.pre else node.term
        if message.granted and message.term != asked:
            return
        self._count(message.source, granted=message.granted)

    def written(self) -> None:
        """The vote for itself counts when it is durable."""
        if not self.pre and self.node.state == self.node.durable:
            self._count(self.node.id, granted=True)

    def _count(self, voter: str, *, granted: bool) -> None:
        node = self.node
        self._votes.setdefault(voter, granted)
        members = node.members
        votes = [self._votes[each] for each in members.voters if each in self._votes]
        if votes.count(True) >= members.quorum:
            if self.pre:
                node.campaign(pre=False)
            else:
                node.lead()
        elif votes.count(False) >= members.quorum:
            node.follow(node.term, "")
