"""What one member wants to have durable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .entry import Entry
from .log import Snapshot
from .message import RaftMessage
from .state import HardState


@dataclass(frozen=True, slots=True)
class StorageAppend:
    """In this order: state, snapshot, entries; when all is durable, `RawNode.written`.

    The state first: an entry must not be durable with a term that the member could vote in once more.

    snapshot: replaces the whole log. first, entries: from this index on what the log held is replaced. state:
    None when unchanged. then: messages that may go when all is durable; `RawNode.written` releases them.
    """

    snapshot: Snapshot | None
    first: int
    entries: Sequence[Entry]
    state: HardState | None
    then: Sequence[RaftMessage]
