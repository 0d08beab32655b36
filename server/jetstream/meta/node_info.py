"""A server of the cluster, as the meta group knows it, and its status just now.

`NodeInfo` is replicated: it changes only by commands. `NodeStatus` is not: each server has its own view, made
of their reports, and only who proposes uses it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class NodeInfo:
    """id: its member, `<node>-<incarnation>`. tags: lower case. max_memory, max_store: bytes, -1 no limit."""

    id: str
    name: str
    cluster: str = ""
    domain: str = ""
    tags: tuple[str, ...] = ()
    max_memory: int = -1
    max_store: int = -1

    @property
    def node(self) -> str:
        """The hash of its name: what clients see as the peer."""
        return node_of(self.id)

    def to_json(self) -> dict[str, Any]:
        """As it stands in commands and snapshots."""
        return {
            "id": self.id,
            "name": self.name,
            "cluster": self.cluster,
            "domain": self.domain,
            "tags": list(self.tags),
            "max_memory": self.max_memory,
            "max_store": self.max_store,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> NodeInfo:
        """Read what `to_json` gave. Raises KeyError, TypeError."""
        return cls(**{**value, "tags": tuple(value["tags"])})


@dataclass(frozen=True, slots=True)
class NodeStatus:
    """online: it has reported lately. known: it has reported at least once. memory, store: bytes used."""

    online: bool = True
    known: bool = True
    memory: int = 0
    store: int = 0


UNSEEN = NodeStatus(online=False, known=False)


def node_of(member: str) -> str:
    """The node of a member's id."""
    return member.partition("-")[0]
