"""The configuration of a group: who votes and who only listens.

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
    """Sets of ids. An id is one incarnation of a server: who lost its disk comes back under another id."""

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
        """Everyone who gets the log."""
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
