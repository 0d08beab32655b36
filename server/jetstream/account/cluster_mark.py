"""ClusterMark: what a stream's document on the disk records of the cluster that it belongs to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ClusterMark:
    """What the disk records besides of a cluster's stream. group: its name.

    replicated: its messages belong to a replica of that group, whose log may know more.
    """

    group: str
    replicated: bool = False

    def to_json(self) -> dict[str, Any]:
        """As it stands in the stream's document."""
        return {"group": self.group, **({"replicated": True} if self.replicated else {})}

    @classmethod
    def of(cls, document: dict[str, Any]) -> ClusterMark | None:
        """The mark in a stream's document; None for a stream that no cluster ever had."""
        group = document.get("group")
        return cls(group, bool(document.get("replicated"))) if group else None
