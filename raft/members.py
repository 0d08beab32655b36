"""The configuration of a group: its voters, and its learners, which only receive the log.

A configuration is in force as soon as it is in a member's log (thesis 4.1). Two successive configurations
differ by at most one voter, so that their majorities always overlap.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass


class MembersError(ValueError):
    """A change of members that is not allowed: more than one voter, no voter left, or a change under way."""


@dataclass(frozen=True, slots=True)
class Members:
    """A configuration. A server that has lost its disk comes back under another id.

    voters: the ids of the members that vote and count towards a majority.
    learners: the ids of the members that do neither (thesis 4.2.1). No learner is a voter.
    """

    voters: frozenset[str]
    learners: frozenset[str] = frozenset()

    @classmethod
    def of(cls, voters: Iterable[str], learners: Iterable[str] = ()) -> Members:
        """Return the configuration with these voters and learners."""
        return cls(frozenset(voters), frozenset(learners))

    @property
    def quorum(self) -> int:
        """The number of voters that make a majority."""
        return len(self.voters) // 2 + 1

    @property
    def all(self) -> frozenset[str]:
        """All members, which are those that receive the log."""
        return self.voters | self.learners

    def check_next(self, new: Members) -> None:
        """Raise MembersError unless `new` may follow this configuration."""
        if not new.voters:
            raise MembersError("a group needs a voter")
        if new.voters & new.learners:
            raise MembersError("a member either votes or learns")
        if len(self.voters ^ new.voters) > 1:
            raise MembersError("one voter at a time may be added or removed")

    def encode(self) -> bytes:
        """Return the configuration as the data of an entry."""
        return json.dumps([sorted(self.voters), sorted(self.learners)]).encode()

    @classmethod
    def decode(cls, data: bytes) -> Members:
        """Return the configuration that `encode` encoded."""
        voters, learners = json.loads(data)
        return cls.of(voters, learners)
