"""The configuration and state of a stream at one moment, as its leader reports them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class StreamStatus:
    """A stream: `messages` of the sequences `first` to `last` exist; an empty one has first > last."""

    name: str
    created: str  # RFC 3339: another value means another stream
    first: int
    last: int
    messages: int
    bytes: int
    first_time: str  # RFC 3339, the zero time if there are no messages
    last_time: str
    deleted: int  # sequences between first and last that are gone
    lost: tuple[int, ...]  # sequences that the server found damaged
    config: Mapping[str, Any]
    counts: Mapping[str, int]  # messages by subject, of the subjects that were asked for

    @classmethod
    def of(cls, name: str, info: Mapping[str, Any]) -> StreamStatus:
        """Return the status in an answer of STREAM.INFO."""
        state = info["state"]
        return cls(
            name=name,
            created=str(info["created"]),
            first=max(1, int(state["first_seq"])),  # 0 before the first message
            last=int(state["last_seq"]),
            messages=int(state["messages"]),
            bytes=int(state["bytes"]),
            first_time=str(state["first_ts"]),
            last_time=str(state["last_ts"]),
            deleted=int(state.get("num_deleted") or 0),
            lost=tuple((state.get("lost") or {}).get("msgs") or ()),
            config=dict(info["config"]),
            counts={str(key): int(value) for key, value in (state.get("subjects") or {}).items()},
        )

    @property
    def retention(self) -> str:
        """The retention policy: `limits`, `interest` or `workqueue`."""
        return str(self.config.get("retention") or "limits")

    @property
    def storage(self) -> str:
        """The storage: `file` or `memory`."""
        return str(self.config.get("storage") or "file")

    @property
    def discard(self) -> str:
        """What is discarded when the stream is full: `old` or `new`."""
        return str(self.config.get("discard") or "old")

    @property
    def subjects(self) -> tuple[str, ...]:
        """The subjects that the stream stores by itself; a mirror has none."""
        return tuple(self.config.get("subjects") or ())

    @property
    def allow_direct(self) -> bool:
        """Whether any replica answers direct gets."""
        return bool(self.config.get("allow_direct"))

    @property
    def sealed(self) -> bool:
        """Whether the stream is sealed: it neither stores nor removes messages."""
        return bool(self.config.get("sealed"))

    @property
    def duplicate_window(self) -> int:
        """How long message ids are remembered, in nanoseconds."""
        return int(self.config.get("duplicate_window") or 0)

    @property
    def max_bytes(self) -> int:
        """The limit in bytes; -1 if there is none."""
        return int(self.config.get("max_bytes") or -1)

    @property
    def max_msgs(self) -> int:
        """The limit in messages; -1 if there is none."""
        return int(self.config.get("max_msgs") or -1)

    @property
    def replicas(self) -> int:
        """The number of replicas."""
        return int(self.config.get("num_replicas") or 1)
