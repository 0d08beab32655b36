"""The document of a stream on the disk: its configuration, and what belongs to that.

The fields: `config`; `created`; `sources`, how far the sources were read (`SourceOffsets`); and what the
cluster that it belongs to is (`ClusterMark`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ....protocol.api.stream import StreamConfig
from ....protocol.limits import KNOWN_API_LEVEL
from ....protocol.timestamp import format_rfc3339

if TYPE_CHECKING:
    from ....store.configs import StoredConfig
    from ...slices import Steps


class UnsupportedError(ValueError):
    """The stream needs a newer server."""


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


def writing(
    config: StreamConfig,
    created: int,
    cluster_mark: ClusterMark | None,
    source_offsets: dict[str, Any] | None = None,
) -> Steps[dict[str, Any]]:
    """Give the document of a stream, bit by bit. created: ns."""
    document = {"config": (yield from config.writing()), "created": format_rfc3339(created)}
    if source_offsets:
        document["sources"] = source_offsets
    if cluster_mark is not None:
        document |= cluster_mark.to_json()
    return document


def read_config(stored: StoredConfig) -> StreamConfig:
    """A stream's configuration. Raises ApiError, ValueError, KeyError."""
    if stored.document is None:
        raise ValueError(stored.damage)
    config = StreamConfig.from_json(stored.document["config"])
    level = config.metadata.get("_nats.req.level", "0")
    if not level.isdigit() or int(level) > KNOWN_API_LEVEL:
        raise UnsupportedError(
            f"unsupported - required API level: {level}, current API level: {KNOWN_API_LEVEL}"
        )
    return config
