"""What a stream gets from outside: its place on the server, and what decides about its messages.

Promises: a stream knows nothing else of its server and account. Tests and replicas pass objects of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ....protocol.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from ....protocol.api.stream import StreamConfig
    from ....store.consumer_files import ConsumerFiles
    from ...accounts.account import Account
    from ...clock import Clock
    from ..host import JetStreamHost
    from ..limits import JetStreamLimits
    from ..quota import Quota
    from .stream_consumers import StreamConsumers

    SaveOffsets = Callable[[StreamConfig, int, dict[str, Any]], None]


@dataclass(frozen=True, slots=True)
class StreamContext:
    """The place of a stream on this server.

    account: the account whose subjects it subscribes to, and in which it publishes.
    host: the clock, the executor and the log of the server.
    limits: what the account may store and uses.
    files: the folders of its consumers; they stay empty for a stream in memory.
    subjects_of: returns the subjects of a stream of the account, on whatever server of the cluster it is;
        none if it does not exist.
    save_offsets: saves how far the sources were read. Its arguments are the stream's configuration, the time
        of its creation (ns) and the result of `SourceOffsets.to_json`. It logs a disk error.
    """

    account: Account
    host: JetStreamHost
    limits: JetStreamLimits
    files: ConsumerFiles
    subjects_of: Callable[[str], Sequence[str]]
    save_offsets: SaveOffsets

    def label(self, name: str) -> str:
        """Return what the log calls a stream: its account and its name."""
        return f"{self.account.name} > {name}"


@dataclass(frozen=True, slots=True)
class StreamDeps:
    """What decides about a stream's messages: the server provides it, or a replicated log.

    Every decision about a message depends on this object alone. Two streams that get the same answers and the
    same operations therefore hold the same messages.

    clock: the time of messages.
    age_clock: the same time; its timers are for max_age.
    ttl_clock: the same time; its timers are for the lifetimes of single messages.
    schedule_clock: the same time; its timers are for scheduled messages.
    random_below: draws a number in [0, bound).
    quota: the bytes that the stream's account uses and may use.
    consumers: the consumers for which interest streams and work queues keep messages.
    alone: whether limits of this server decide, too: what replicas store must not depend on them.
    """

    clock: Clock
    age_clock: Clock
    ttl_clock: Clock
    schedule_clock: Clock
    random_below: Callable[[int], int]
    quota: Quota
    consumers: StreamConsumers[Any]
    alone: bool = True
