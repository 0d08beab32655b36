"""One server of the cluster: its replicated description, and its present status.

`NodeInfo` is replicated and changes only by commands. `NodeStatus` is not: each server has its own view, made
of the others' reports, and only the proposer of a command uses it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ....protocol.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class NodeInfo:
    """A server as the meta group knows it.

    id: of its member, `<node>-<incarnation>`.
    name: the server's name.
    cluster, domain: where it belongs; "" for none.
    tags: in lower case.
    max_memory, max_store: bytes that streams may use, -1 for no limit.
    """

    id: str
    name: str
    cluster: str = ""
    domain: str = ""
    tags: tuple[str, ...] = ()
    max_memory: int = -1
    max_store: int = -1

    @property
    def node(self) -> str:
        """The hash of the server's name, which clients see as the peer."""
        return node_of(self.id)

    def to_json(self) -> dict[str, Any]:
        """Return the description as a document for commands and snapshots."""
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
        """Return the description of a document made by `to_json`. Raises KeyError, TypeError."""
        return cls(**{**value, "tags": tuple(value["tags"])})


@dataclass(frozen=True, slots=True)
class NodeStatus:
    """The present status of a server, from its reports.

    online: whether it has reported lately.
    known: whether it has ever reported.
    memory, store: bytes used.
    """

    online: bool = True
    known: bool = True
    memory: int = 0
    store: int = 0


UNSEEN = NodeStatus(online=False, known=False)


def node_of(member: str) -> str:
    """Return the node of a member's id."""
    return member.partition("-")[0]
