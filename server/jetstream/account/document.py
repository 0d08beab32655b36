"""The document of a stream on the disk: its configuration, and what else is saved with it.

Its fields are `config`; `created`; `sources`, which says how far the sources were read (`SourceOffsets`); and
for a stream of a cluster those of `ClusterMark`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....protocol.api.stream import StreamConfig
from ....protocol.lazy_dataclass import dataclass
from ....protocol.limits import API_LEVEL
from ....protocol.timestamp import format_rfc3339

if TYPE_CHECKING:
    from ....store.configs import StoredConfig
    from ...slices import Steps


class UnsupportedError(ValueError):
    """The stream needs a newer server, as its configuration requires an unknown API level."""


@dataclass(frozen=True, slots=True)
class ClusterMark:
    """What the disk also records about a stream of a cluster.

    group: the name of its Raft group.
    replicated: whether its messages belong to a replica of that group, whose log may have further entries.
    """

    group: str
    replicated: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the fields of the stream's document."""
        return {"group": self.group, **({"replicated": True} if self.replicated else {})}

    @classmethod
    def of(cls, document: dict[str, Any]) -> ClusterMark | None:
        """Return the mark in a stream's document; None if the stream never was in a cluster."""
        group = document.get("group")
        return cls(group, bool(document.get("replicated"))) if group else None


def writing(
    config: StreamConfig,
    created: int,
    cluster_mark: ClusterMark | None,
    source_offsets: dict[str, Any] | None = None,
) -> Steps[dict[str, Any]]:
    """Return the document of a stream, made in steps.

    created: the time of the stream's creation, ns.
    cluster_mark: None for a stream that is not in a cluster.
    source_offsets: the result of `SourceOffsets.to_json`, if there are sources.
    """
    document = {"config": (yield from config.writing()), "created": format_rfc3339(created)}
    if source_offsets:
        document["sources"] = source_offsets
    if cluster_mark is not None:
        document |= cluster_mark.to_json()
    return document


def read_config(stored: StoredConfig) -> StreamConfig:
    """Return a stream's configuration. Raises ApiError, ValueError or KeyError if it cannot be read.

    UnsupportedError, a ValueError, says that it needs a newer server.
    """
    if stored.document is None:
        raise ValueError(stored.damage)
    config = StreamConfig.from_json(stored.document["config"])
    level = config.metadata.get("_nats.req.level", "0")
    if not level.isdigit() or int(level) > API_LEVEL:
        raise UnsupportedError(f"unsupported - required API level: {level}, current API level: {API_LEVEL}")
    return config
