"""The configuration of a group: its voters, and its learners, which only get the log.

A configuration counts from the moment it stands in a member's log (thesis 4.1). Two that follow each other
differ by one voter at most, so that their majorities always meet.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass


class MembersError(ValueError):
    """A change of members that cannot be made: more than one voter, nobody left, one under way."""


@dataclass(frozen=True, slots=True)
class Members:
    """A configuration. A server that has lost its disk comes back under another id.

    voters: ids of the members that vote and are counted for a majority.
    learners: ids of those that do neither (thesis 4.2.1); none of them is a voter.
    """

    voters: frozenset[str]
    learners: frozenset[str] = frozenset()

    @classmethod
    def of(cls, voters: Iterable[str], learners: Iterable[str] = ()) -> Members:
        """Make one of any iterables."""
        return cls(frozenset(voters), frozenset(learners))

    @property
    def quorum(self) -> int:
        """How many voters are a majority."""
        return len(self.voters) // 2 + 1

    @property
    def all(self) -> frozenset[str]:
        """All members: these get the log."""
        return self.voters | self.learners

    def check_next(self, new: Members) -> None:
        """Raise MembersError unless `new` may follow this one."""
        if not new.voters:
            raise MembersError("a group needs a voter")
        if new.voters & new.learners:
            raise MembersError("a member either votes or learns")
        if len(self.voters ^ new.voters) > 1:
            raise MembersError("one voter at a time may be added or removed")

    def encode(self) -> bytes:
        """As the data of an entry."""
        return json.dumps([sorted(self.voters), sorted(self.learners)]).encode()

    @classmethod
    def decode(cls, data: bytes) -> Members:
        """Read what `encode` gave."""
        voters, learners = json.loads(data)
        return cls.of(voters, learners)
