"""Assignments: which servers hold a stream, and which consumers it has.

Invariants, kept by `apply`:

1. A stream has at least one peer, and no peer twice.
2. It has as many peers as its configuration has replicas, or fewer while servers are lacking (then it is
   `short`).
3. `leaving` are former peers, also of servers that were removed; none of them is a peer.
4. All peers are servers and so is at least one holder, or the stream waits for a holder that was removed.
5. A consumer has no peers of its own: it is where its stream is, and is replicated in the stream's group.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, field
from typing import Any

from ....protocol.lazy_dataclass import dataclass

Document = dict[str, Any]
_MEMBERS = ("peers", "seeds", "holders", "leaving", "evacuated")
ORIGIN_CONFIG = ("num_replicas", "placement")  # what `StreamAssignment.origin` keeps of the configuration


@dataclass(frozen=True, slots=True)
class StreamAssignment:
    """What the meta group decided about one stream.

    Peers are ids of members. Documents are never changed in place.

    account: the account's name.
    config: the stream's configuration, complete with its defaults.
    group: the name of its Raft group; a stream with one copy has one, too.
    cluster: the name of the cluster where it is placed.
    peers: the members that should hold it.
    created: when it was created, ns.
    revision: the index of the command that changed the assignment last.
    placed: the index of the command that changed the peers last.
    seeds: the members that may bootstrap the group, with what they have. () as soon as the group has started,
        so that a server that lost its data does not bootstrap it again, but joins.
    holders: the members that are certain to have the messages; the others may still be catching up.
    preferred: the member that should lead, "" for any.
    leaving: members that held it, and serve on until the group has removed them.
    change: which change of the members is under way ("scale", "move", "heal"); "" if the group matches
        `peers`.
    client: the client that created it, or changed it last.
    evacuated: members that were evacuated without another one in their place; the stream does not get them
        back by itself.
    origin: what a move or scale under way began with, so that it can be cancelled: "peers", "cluster", and
        "config" with the fields `ORIGIN_CONFIG`. {} when none is under way.
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
    evacuated: tuple[str, ...] = ()
    origin: Document = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The stream's name."""
        return str(self.config["name"])

    @property
    def replicas(self) -> int:
        """How many copies the configuration asks for, at least 1."""
        return max(1, int(self.config.get("num_replicas") or 1))

    @property
    def subjects(self) -> list[str]:
        """The subjects that the stream captures."""
        return self.config.get("subjects") or []

    @property
    def storage(self) -> str:
        """Either "file" or "memory"."""
        return self.config.get("storage") or "file"

    @property
    def max_bytes(self) -> int:
        """The bytes that each copy reserves; 0 for none."""
        return max(0, int(self.config.get("max_bytes") or 0))

    @property
    def members(self) -> tuple[str, ...]:
        """The members that may be in the group now: the peers, and those that are leaving."""
        return self.peers + self.leaving

    @property
    def replicated(self) -> bool:
        """Whether the stream needs a running Raft group: with several copies, or while it moves."""
        return len(self.members) > 1

    @property
    def short(self) -> bool:
        """Whether there are fewer peers than replicas."""
        return len(self.peers) < self.replicas

    def to_json(self) -> Document:
        """Return the assignment as a document for snapshots."""
        value = asdict(self)
        return {**value, **{name: list(value[name]) for name in _MEMBERS}}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> StreamAssignment:
        """Return the assignment of a document made by `to_json`. Raises KeyError, TypeError."""
        return cls(**{**value, **{name: tuple(value[name]) for name in _MEMBERS if name in value}})


@dataclass(frozen=True, slots=True)
class ConsumerAssignment:
    """What the meta group decided about one consumer; for the fields see StreamAssignment.

    Internal (direct) consumers have no assignment.
    """

    account: str
    stream: str
    name: str
    config: Document
    created: int
    revision: int
    client: Document = field(default_factory=dict)

    @property
    def durable(self) -> bool:
        """Whether the consumer outlives its clients."""
        return bool(self.config.get("durable_name"))

    @property
    def public(self) -> bool:
        """Whether the consumer counts towards limits and numbers, unlike one of another stream's source."""
        return not self.config.get("direct") and not self.config.get("sourcing")

    def replicas(self, stream: StreamAssignment) -> int:
        """Return how many copies the consumer asks for: its own number, at most that of its stream.

        Without a number of its own, an ephemeral consumer of a stream with limits retention asks for one
        copy, any other consumer for as many as its stream.
        """
        asked = int(self.config.get("num_replicas") or 0)
        if asked:
            return min(asked, stream.replicas)
        if not self.durable and stream.config.get("retention", "limits") == "limits":
            return 1
        return stream.replicas

    def to_json(self) -> Document:
        """Return the assignment as a document for snapshots."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> ConsumerAssignment:
        """Return the assignment of a document made by `to_json`. Raises TypeError."""
        return cls(**value)
