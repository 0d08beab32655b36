"""StreamParts makes the parts of a stream that differ between one server and a replica.

`LocalParts` makes those of a stream that is on one server alone: what is asked for is done at once, and is
safe when it is on this server's disk.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from .commit import GroupCommit
from .context import StreamDeps
from .origin_storage import OriginStorage
from .output import AccountOutput
from .removal import MessageRemoval

if TYPE_CHECKING:
    from ....protocol.api.stream import StreamConfig
    from ....store.stream import StreamStore
    from ...accounts.subscription import Message, Publish
    from .atomic_batches import AtomicBatches
    from .commit import StreamAckQueue
    from .contents import StreamContents
    from .context import StreamContext
    from .ingest import Ingest
    from .origin_storage import CommittedStream, SourceTarget
    from .output import StreamOutput
    from .served_consumers import ServedConsumers


class CommitEvents(Protocol):
    """What a stream does when its messages are safe, or cannot be made safe."""

    def committed(self, last: int) -> None:
        """The messages up to the sequence `last` are safe."""

    def commit_failed(self, error: BaseException) -> bytes:
        """Return the answer to the publishers, because the disk has failed."""


class PublishReceiver(Protocol):
    """Gets the publishes to a stream's subjects.

    batches: gathers atomic batches; None if the stream does not allow them.
    """

    batches: AtomicBatches | None

    def receive(self, message: Message) -> None:
        """Take one publish."""

    def receive_batch(self, run: list[Publish]) -> None:
        """Take publishes that came together."""

    def receive_whole(self, run: list[Publish]) -> None:
        """Take an atomic batch, in which each tail is only header, body and line end."""


class StreamParts(Protocol):
    """Makes the parts of one stream. output: publishes and logs for it."""

    output: StreamOutput

    def deps(self, consumers: ServedConsumers[Any]) -> StreamDeps:
        """Return what decides about the messages."""

    def ack_queue(self, store: StreamStore, events: CommitEvents) -> StreamAckQueue:
        """Return what answers publishers."""

    def removal(
        self,
        contents: StreamContents,
        consumers: ServedConsumers[Any],
        removed: Callable[[int, str], None],
    ) -> MessageRemoval:
        """Return what removes messages; removed: see `ContentsEvents`."""

    def receiver(self, ingest: Ingest) -> PublishReceiver:
        """Return what gets the publishes to the stream's subjects."""

    def origin_target(
        self, contents: StreamContents, ingest: Ingest, removal: MessageRemoval, stream: CommittedStream
    ) -> SourceTarget:
        """Return what gets the messages of a mirror's origin, or of sources."""


class LocalParts:
    """The parts of a stream that is on one server alone."""

    def __init__(self, config: StreamConfig, context: StreamContext) -> None:
        self.output: StreamOutput = AccountOutput(context.account, context.host, context.label(config.name))
        self._context = context
        self._quota = context.limits.quota(config.storage)

    def deps(self, consumers: ServedConsumers[Any]) -> StreamDeps:
        """Return this server's clock and random numbers, and the consumers that it serves."""
        clock, random_below = self._context.host.clock, self._context.host.random_below
        return StreamDeps(clock, clock, clock, clock, random_below, self._quota, consumers)

    def ack_queue(self, store: StreamStore, events: CommitEvents) -> StreamAckQueue:
        """Return what answers publishers when the messages are on this disk."""
        account, executor = self._context.account, self._context.host.executor
        send, answer = self.output.send, account.publish_each
        committed, failed = events.committed, events.commit_failed
        return GroupCommit(store, executor, account.flusher, send, answer, committed, failed)

    def removal(
        self,
        contents: StreamContents,
        consumers: ServedConsumers[Any],
        removed: Callable[[int, str], None],
    ) -> MessageRemoval:
        """Return what removes messages in the next turns of the loop."""
        return MessageRemoval(contents, self._context.host.turns, self.output, consumers, removed)

    def receiver(self, ingest: Ingest) -> PublishReceiver:
        """Return `ingest`: publishes are stored at once."""
        return ingest

    def origin_target(
        self, contents: StreamContents, ingest: Ingest, removal: MessageRemoval, stream: CommittedStream
    ) -> SourceTarget:
        """Return what stores their messages at once."""
        return OriginStorage(contents, ingest, removal, stream, self._context.save_offsets)
