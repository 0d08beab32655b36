"""Assignments: which servers hold a stream, and which consumers it has.

Invariants, kept by `apply`:

1. A stream has at least one peer, and no peer twice.
2. It has as many peers as its configuration has replicas, or fewer while servers lack (then it is `short`).
3. `leaving` are former peers, of servers that were removed, too; none of them is a peer.
4. All peers are servers and so is some holder, or the stream waits for a holder that was removed.
5. A consumer has no peers of its own: it rides on its stream's group.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

Document = dict[str, Any]
_MEMBERS = ("peers", "seeds", "holders", "leaving")


@dataclass(frozen=True, slots=True)
class StreamAssignment:
    """One stream. Times in ns; peers are members' ids; documents are never changed in place.

    group: its name, also of a stream with one copy. seeds: who may begin that group, with what they have; ()
    as soon as it has begun, so that nobody who lost it begins it again: they join. peers: who is to hold it.
    leaving: who held it, and serves on until the group has let it go. holders: the members that are sure to
    have its messages; the others may be filling up. change: what is under way with the members ("scale",
    "move", "heal"), "" when the group matches `peers`. client: who made it. revision: the index of the
    command that changed it last; placed: the peers.
    """

    account: str
    config: Document
    group: str
    cluster: str
    peers: tuple[str, ...]
    created: int
    revision: int
    placed: int
    seeds: tuple[str, ...] = ()
    holders: tuple[str, ...] = ()
    preferred: str = ""
    leaving: tuple[str, ...] = ()
    change: str = ""
    client: Document = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The stream's name."""
        return str(self.config["name"])

    @property
    def replicas(self) -> int:
        """How many copies are wanted."""
        return max(1, int(self.config.get("num_replicas") or 1))

    @property
    def subjects(self) -> list[str]:
        """What it captures."""
        return self.config.get("subjects") or []

    @property
    def storage(self) -> str:
        """Either "file" or "memory"."""
        return self.config.get("storage") or "file"

    @property
    def max_bytes(self) -> int:
        """What each copy is promised, in bytes; 0 for no promise."""
        return max(0, int(self.config.get("max_bytes") or 0))

    @property
    def members(self) -> tuple[str, ...]:
        """Who may be in its group now: peers, and those that are leaving."""
        return self.peers + self.leaving

    @property
    def replicated(self) -> bool:
        """Whether it needs a Raft group: more than one copy, or on its way from one server to another."""
        return len(self.members) > 1

    @property
    def short(self) -> bool:
        """Whether it has fewer peers than wanted."""
        return len(self.peers) < self.replicas

    def to_json(self) -> Document:
        """As it stands in snapshots."""
        value = asdict(self)
        return {**value, **{name: list(value[name]) for name in _MEMBERS}}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> StreamAssignment:
        """Read what `to_json` gave. Raises KeyError, TypeError."""
        return cls(**{**value, **{name: tuple(value[name]) for name in _MEMBERS}})


@dataclass(frozen=True, slots=True)
class ConsumerAssignment:
    """One consumer; see StreamAssignment. Internal (direct) consumers have none."""

    account: str
    stream: str
    name: str
    config: Document
    created: int
    revision: int
    client: Document = field(default_factory=dict)

    @property
    def durable(self) -> bool:
        """Whether it outlives its clients."""
        return bool(self.config.get("durable_name"))

    @property
    def public(self) -> bool:
        """Whether it counts: not one that another stream's source made."""
        return not self.config.get("direct") and not self.config.get("sourcing")

    def replicas(self, stream: StreamAssignment) -> int:
        """How many copies it asks for: its own number, or its stream's.

        An ephemeral of a stream with limits retention asks for one.
        """
        asked = int(self.config.get("num_replicas") or 0)
        if asked:
            return min(asked, stream.replicas)
        if not self.durable and stream.config.get("retention", "limits") == "limits":
            return 1
        return stream.replicas

    def to_json(self) -> Document:
        """As it stands in snapshots."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> ConsumerAssignment:
        """Read what `to_json` gave. Raises TypeError."""
        return cls(**value)
