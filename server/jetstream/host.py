"""JetStreamHost: what JetStream needs of the server that it runs in.

Promises: its fields are plain values and protocols; tests make one with a fake clock and an executor that
runs everything at once.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING, Protocol

from ...protocol import headers
from ...protocol.identifier import new_id
from ...protocol.lazy_dataclass import dataclass
from ...protocol.limits import API_LEVEL
from ...store.fs import Disk, FileSystem
from ..clock import SECOND, Clock
from ..logging import Logger, NullLogger
from ..slices import TurnScheduler
from .catchup_budget import CatchupBudget
from .overload import RequestQueues, StreamQueue

if TYPE_CHECKING:
    from ..accounts.account import Account
    from ..config.options.jetstream import BatchLimits
    from ..task_executor import TaskExecutor

DEFAULT_MAX_PENDING = 64 * 1024 * 1024


class OpenFastBatches(Protocol):
    """The open fast batches of one stream."""

    def live(self, now: int) -> int:
        """Return how many of them something was added to within the time limit."""


class FastBatchCount:
    """How many fast batches are open on the server, and whether there may be more. most: the limit.

    A stream forgets batches that were left open only with its next one, so that above the limit only those in
    use are counted; once a second at most, since there may be many.
    """

    def __init__(self) -> None:
        self.most = 50_000
        self._open: dict[OpenFastBatches, int] = {}
        self._total = self._live = 0
        self._counted = -SECOND

    def count(self, batches: OpenFastBatches, number: int) -> None:
        """Note that a stream has so many open batches now."""
        change = number - self._open.get(batches, 0)
        self._total += change
        self._live += max(change, 0)
        if number:
            self._open[batches] = number
        else:
            self._open.pop(batches, None)

    def full(self, now: int) -> bool:
        """Return whether no more batches may begin. now: ns."""
        if self._total < self.most:
            return False
        if now - self._counted >= SECOND:
            self._counted = now
            self._live = sum(batches.live(now) for batches in self._open)
        return self._live >= self.most


@dataclass(slots=True)
class BatchCapacity:
    """How many batches are open on the server, and how many may be.

    max_of_stream, max_open: batches of one stream, and of all.
    max_fast_of_stream: fast batches of one stream.
    max_msgs: messages of a batch.
    timeout: ns after which a batch that nothing was added to is abandoned.
    max_batch_bytes, max_bytes: of the messages that wait, in a batch and in all.
    open, bytes: what there is now.
    fast: the fast batches of all streams.
    """

    max_of_stream: int = 50
    max_fast_of_stream: int = 1000
    max_open: int = 1000
    max_msgs: int = 1000
    timeout: int = 10 * SECOND
    max_batch_bytes: int = 16 * 1024 * 1024
    max_bytes: int = 256 * 1024 * 1024
    open: int = 0
    bytes: int = 0
    fast: FastBatchCount = field(default_factory=FastBatchCount)

    @classmethod
    def of(cls, limits: BatchLimits) -> BatchCapacity:
        """Return one with the limits of a configuration; what is not positive has its default."""
        of_stream, in_all = limits.max_inflight_per_stream, limits.max_inflight_total
        configured = {
            "max_of_stream": limits.max_inflight_per_stream,
            # Without a configured limit there may be more fast batches than atomic ones.
            "max_fast_of_stream": 0 if of_stream == cls().max_of_stream else of_stream,
            "max_open": limits.max_inflight_total,
            "max_msgs": limits.max_msgs,
            "timeout": limits.timeout,
        }
        found = cls()
        for name, value in configured.items():
            if value > 0:
                setattr(found, name, value)
        if in_all > 0 and in_all != cls().max_open:
            found.fast.most = in_all
        return found


@dataclass(slots=True)
class JetStreamHost:
    """The environment of JetStream. Durations are in ns, sizes in bytes; 0 means no limit.

    server_name: the server's name, shown in advisories and as the leader.
    domain: the JetStream domain, "" for none.
    disk: where everything is stored; it encrypts if the configuration has a key.
    batches: the open batches of all streams.
    system: the system account, None if there is none.
    queues: how many requests may wait for their turn.
    stream_queue: how many publishes of a replicated stream may be under way.
    max_outstanding_catchup: bytes that may be under way to replicas that catch up; 0 for the default.
    catchup: what is under way to them.
    features: the feature flags that are on.
    legacy_api: whether stream templates and the API of 2020 are served.
    turns: where long work is done in slices, so that all of it together leaves time for the rest.
    deliveries: the same for consumers that have more to deliver.
    """

    clock: Clock
    executor: TaskExecutor
    server_name: str = "pyjs"
    server_id: str = ""
    cluster_name: str = ""
    domain: str = ""
    strict: bool = True
    duplicates_limit: int = 0
    default_max_consumers: int = 0
    max_ack_pending: int = 0
    max_request_batch: int = 0
    max_pending: int = DEFAULT_MAX_PENDING
    log: Logger = field(default_factory=NullLogger)
    disk: FileSystem = field(default_factory=Disk)
    random_bytes: Callable[[int], bytes] = random.randbytes
    batches: BatchCapacity = field(default_factory=BatchCapacity)
    system: Account | None = None
    queues: RequestQueues = field(default_factory=RequestQueues)
    stream_queue: StreamQueue = StreamQueue()
    max_outstanding_catchup: int = 0
    features: frozenset[str] = frozenset()
    legacy_api: bool = False
    turns: TurnScheduler = field(init=False)
    deliveries: TurnScheduler = field(init=False)
    catchup: CatchupBudget = field(init=False)

    def __post_init__(self) -> None:
        self.turns = TurnScheduler(self.executor.soon)
        self.deliveries = TurnScheduler(self.clock.soon)
        self.catchup = CatchupBudget(self.clock, self.max_outstanding_catchup)

    def random_below(self, bound: int) -> int:
        """Return a random number in [0, bound)."""
        return int.from_bytes(self.random_bytes(8), "big") % bound

    def new_id(self, length: int = 22) -> str:
        """Return a random identifier of `length` characters."""
        return new_id(self.random_bytes, length)


def serves_level(header: bytes) -> bool:
    """Return whether `API_LEVEL` satisfies the level that a request's header requires, if any."""
    level = headers.get(header, b"Nats-Required-Api-Level") if header else None
    return not level or (level.isdigit() and int(level) <= API_LEVEL)
