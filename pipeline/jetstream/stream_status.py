"""The configuration and state of a stream at one moment, as its leader reports them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...protocol.timestamp import parse_rfc3339


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
    now: int = 0  # the server's time of the answer, in ns since the epoch; 0 if it does not say

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
            now=parse_rfc3339(str(info["ts"])) if info.get("ts") else 0,
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
    def max_age(self) -> int:
        """How long a message is kept, in nanoseconds; 0: without a limit."""
        return int(self.config.get("max_age") or 0)

    @property
    def compacts(self) -> bool:
        """Whether a new message removes an older one of its subject, as in a key-value bucket."""
        return int(self.config.get("max_msgs_per_subject") or -1) > 0

    def stored_after(self, sequence: int) -> int:
        """Return a time that messages from a sequence on were stored after, in ns since the epoch.

        0 where `only_compacted` has no use for it: for a stream that does not compact, or without an age.
        """
        if not self.compacts or not self.max_age:
            return 0
        return self.now if sequence > self.last else parse_rfc3339(self.first_time)

    def only_compacted(self, stored_after: int) -> bool:
        """Return whether messages that left the front can only have been overwritten.

        stored_after: a time in ns since the epoch that they were stored after; 0 if that is not known

        That is so if no other limit removes messages: none of number and bytes that discards old ones, and
        none of age that they can have reached. A stream without any message was emptied by something else.
        What a purge took before newer messages arrived, or a limit that no longer is, looks the same.
        """
        if not self.compacts or not self.messages:
            return False
        if self.discard == "old" and (self.max_msgs > 0 or self.max_bytes > 0):
            return False
        if not self.config.get("mirror"):  # whose messages may be older than itself
            stored_after = max(stored_after, parse_rfc3339(self.created))
        return not self.max_age or 0 < self.now < stored_after + self.max_age

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
