"""GroupEnvironment: what all Raft groups of a server share: where they write, send, wait and log."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from random import Random
from typing import TYPE_CHECKING

from ...protocol.lazy_dataclass import dataclass
from ...raft import RaftConfig
from .incarnations import Incarnations

if TYPE_CHECKING:
    from ...store.fs import FileSystem
    from ..clock import Clock
    from ..logging import Logger
    from ..task_executor import TaskExecutor
    from .ticker import Ticker
    from .transport import RaftTransport

TIMING = RaftConfig(heartbeat=2, election=10)
COMPACT_ENTRIES = 8192


@dataclass(slots=True)
class CompactionThreshold:
    """After how much that was applied since the last one a member takes a snapshot; 0 for the default.

    entries, bytes: whichever is reached first.
    """

    entries: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class GroupEnvironment:
    """What all Raft members of a server share.

    name: the server's name.
    server: the server's id.
    node: the hash of the name, by which the groups know the server.
    domain: the server's JetStream domain.
    path: the folder of the groups.
    transport: carries the groups' messages.
    executor: runs work that blocks.
    ticker: calls the groups at each tick.
    timing: the ticks between heartbeats, and before an election.
    compact_entries: the default of `CompactionThreshold.entries`.
    compaction: when to take a snapshot. It may change.
    handing_over: is called before a member hands the lead of its group over.
    read_executor: runs work whose cost grows with what is stored, so that it delays nothing else; None:
        `executor`.
    """

    name: str
    server: str
    node: str
    domain: str
    path: str
    transport: RaftTransport
    executor: TaskExecutor
    ticker: Ticker
    clock: Clock
    fs: FileSystem
    log: Logger
    random_bytes: Callable[[int], bytes]
    timing: RaftConfig = TIMING
    compact_entries: int = COMPACT_ENTRIES
    compaction: CompactionThreshold = field(default_factory=CompactionThreshold)
    handing_over: Callable[[], None] = lambda: None
    read_executor: TaskExecutor | None = None

    def incarnations(self, group: str) -> Incarnations:
        """Return this server's incarnations in a group."""
        return Incarnations(f"{self.path}/{group}", self.node, fs=self.fs, random_bytes=self.random_bytes)

    def random(self) -> Random:
        """Return a new random number generator."""
        return Random(int.from_bytes(self.random_bytes(8), "big"))
