"""Stream: stores the messages of its subjects, and keeps them as its configuration says.

Promises: an acknowledged message is on disk (file storage); consumers only see committed messages; the store
holds no more than the configuration allows; a stop and a start change nothing but the consumers' clocks.

A stream begins, changes its configuration and ends; its parts do all else. Each of them knows
`StreamContents` and a port of its own, never the stream: `Ingest` takes publishes, the ack queue commits and
answers, `MessageRemoval` removes messages, `ServedConsumers` has the consumers, `DirectGet` reads, and
`Sourcing` follows the origins of a mirror or of sources. `StreamParts` makes those that a replica has in
another form.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ....protocol.api.stream import StreamConfig
from ....protocol.errors import ApiError, api_error
from ....protocol.identifier import name_hash
from ....protocol.timestamp import format_rfc3339
from ....store.stream import StreamStore
from ...slices import Steps, at_once
from .. import advisories
from .atomic_batches import AtomicBatches
from .compactor import Compactor
from .contents import StreamContents
from .context import StreamContext
from .direct import DirectGet
from .ingest import Ingest
from .parts import LocalParts
from .served_consumers import ServedConsumers
from .source_offsets import SourceOffsets
from .sourcing import Sourcing
from .stream_consumers import StreamConsumer
from .subscriptions import StreamSubscriptions
from .traced_publishes import TracedPublishes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .commit import Answer
    from .output import StreamOutput
    from .parts import StreamParts
    from .removal import MessageRemoval

C = TypeVar("C", bound=StreamConsumer)  # what reads the stream: its consumers, a layer above


class _IngestEvents:
    """What a stream does for its publishes."""

    def __init__(self, output: StreamOutput, removal: MessageRemoval) -> None:
        self.send_each = output.send_each
        self.store_failed = output.store_failed
        self._removal = removal

    def roll_up(self, rollups: list[tuple[str, int]]) -> list[Answer] | None:
        """Let messages just stored replace those before them; see `MessageRemoval.roll_up`."""
        return self._removal.roll_up(rollups)


class Stream(Generic[C]):
    """One stream of an account.

    label: the account and the name, for the log.
    created: the time of its creation, ns.
    output: publishes in the account and logs, for the stream.
    consumers: the consumers that are served, by name.
    committed_seq: the last sequence that consumers may get.
    compacts: whether it frees the disk space of removed messages by itself, in the background.
    sourcing: follows the origins once `start_sourcing` was called; None for a stream without origins.
    stopped: whether it has ended and takes nothing more.
    deleting: whether it is being deleted, so that its consumers end too.
    """

    def __init__(
        self,
        config: StreamConfig,
        store: StreamStore,
        context: StreamContext,
        created: int,
        parts: StreamParts | None = None,
    ) -> None:
        """parts: makes the parts that differ between streams; None for a stream on this server alone."""
        parts = parts or LocalParts(config, context)
        self.config = config
        self.name = config.name
        self.store = store
        self.context = context
        self.account = context.account
        self.host = context.host
        self.clock = context.host.clock
        self.domain = context.host.domain
        self.label = context.label(config.name)
        self.created = created
        self.output = output = parts.output
        self.consumers: ServedConsumers[C] = ServedConsumers()
        self._served = self.consumers.values()  # a live view
        self.deps = parts.deps(self.consumers)
        self.quota = self.deps.quota
        self.committed_seq = store.last_seq
        self.sourcing: Sourcing | None = None
        self.stopped = self.deleting = False
        self.compacts = config.storage == "file"
        self.ack_queue = parts.ack_queue(store, self)
        warn, gone_wrong = self.host.log.warning, f"No space given back by '{self.label}'"
        self.compactor = Compactor(
            store, self.clock, self.host.executor, lambda error: warn(f"{gone_wrong}: {error}")
        )
        self.source_offsets = SourceOffsets(store, self.clock, self._save_offsets)
        self.contents = contents = StreamContents(
            config,
            store,
            self.deps,
            self.ack_queue,
            self.source_offsets,
            self,
            unreadable=self.consumers.offline,
        )
        self.limits = contents.limits
        self.retention = contents.retention
        self.expiry = contents.expiry
        self.schedules = contents.schedules
        self.dedupe = contents.dedupe
        self.removal = parts.removal(contents, self.consumers, self.removed)
        self.ingest = Ingest(
            contents, _IngestEvents(output, self.removal), self.host.batches, domain=self.domain
        )
        self.origin_target = parts.origin_target(contents, self.ingest, self.removal, self)
        self._receiver = receiver = parts.receiver(self.ingest)
        self._allow_batches()
        traced = TracedPublishes(contents, receiver.receive)
        self.subscriptions = StreamSubscriptions(self.account, receiver, traced.take)
        self.direct_get = DirectGet(config, store, self.account, self.host, output)

    @property
    def leading(self) -> bool:
        """Whether this server subscribes, follows origins and answers for the stream."""
        return True

    @property
    def identity(self) -> str:
        """A hash of the creation time, which tells a stream from an earlier one of the same name."""
        return name_hash(format_rfc3339(self.created))

    # --- lifecycle

    def recover(self, offsets: Mapping[str, Any]) -> None:
        """Read back what the stream knew when it stopped: message ids, TTLs and offsets of sources.

        Blocks, and costs by what is stored. It may run in any thread, as nobody else has the stream yet.
        """
        self.contents.recover(offsets)

    def start(self) -> None:
        """Begin to enforce the stream's limits, and subscribe to its subjects."""
        at_once(self.beginning())

    def beginning(self) -> Steps[None]:
        """Do what `start` does, in steps."""
        yield from self.starting()
        yield from self.serving()

    def starting(self) -> Steps[None]:
        """Begin to enforce the stream's limits, in steps."""
        yield from self.contents.starting()

    def serving(self) -> Steps[None]:
        """Subscribe to the stream's subjects, in steps. A stream that stops meanwhile keeps none of them."""
        yield from self.subscriptions.changing(self._wanted())
        if self.stopped:
            return
        self.direct_get.configure(self.config)
        if self.store.last_seq != self.committed_seq:
            self.ack_queue.wake()

    def start_sourcing(self) -> None:
        """Begin to follow the origins of a mirror or of sources.

        To be called once all streams of the account are open, as an origin may be one of them.
        """
        has_origins = self.config.mirror is not None or self.config.sources
        if self.sourcing is None and has_origins and self.leading:
            caught_up, log_failure = self.direct_get.mirror_caught_up, self.output.log_failure
            self.sourcing = Sourcing(self.contents, self.context, self.origin_target, caught_up, log_failure)
            self.sourcing.start()

    def _wanted(self) -> list[str]:
        """Return the subjects to subscribe to: none for a mirror, or while another server leads."""
        return self.config.subjects if self.config.mirror is None and self.leading else []

    def stop(self) -> None:
        """Unsubscribe, and leave everything on disk. Blocks. Raises OSError and StoreError."""
        if self.stopped:
            return
        self.halt()
        try:
            self.write_out()
        finally:
            self.answer()  # publishers hear of a failure too

    def halt(self) -> None:
        """Unsubscribe, and send nothing more. `write_out` and then `answer` complete the stop."""
        self._silence()
        self.consumers.halt()
        self.ack_queue.halt()

    def write_out(self) -> None:
        """Write everything to disk. Blocks; may run in any thread. Raises OSError and StoreError."""
        self.compactor.wait()
        self.consumers.write_out()
        self.ack_queue.write_out()
        if self.config.sources and self.ack_queue.error is None:
            self.source_offsets.save()
        self.store.close()

    def answer(self) -> None:
        """Acknowledge what was stored last, and take the stream out of the account's usage."""
        self.ack_queue.answer()
        self.contents.end_usage()

    def silencing(self) -> Steps[None]:
        """End the subscriptions, in steps, before the stream is stopped or deleted."""
        yield from self.subscriptions.changing(())

    def hand_over(self) -> StreamStore:
        """Stop, and return the open, committed store for another stream object to continue with."""
        self._silence()
        self.compactor.wait()
        self.consumers.halt()
        self.consumers.write_out()
        self.ack_queue.close()
        self.contents.end_usage()
        return self.store

    def delete(self) -> None:
        """End the stream and its consumers. The caller removes the stream's folder."""
        self._silence()
        self.compactor.wait()
        self.consumers.delete()
        self.ack_queue.close()
        self.contents.end_usage()
        self.removal.release(self.store.release())

    def _allow_batches(self) -> None:
        """Begin or end to gather atomic batches, as the configuration says."""
        batches, receiver = self._receiver.batches, self._receiver
        if not self.config.allow_atomic:
            self.end_batches()
            receiver.batches = None
        elif batches is None:
            send, refusal = self.output.send_each, self.ingest.refusal
            receiver.batches = AtomicBatches(
                self.contents,
                self.account,
                self.host,
                lambda reply, body: send([(reply, body)]),
                refusal,
                receiver.receive_whole,
            )

    def end_batches(self) -> None:
        """Forget the atomic batches that are not committed."""
        if self._receiver.batches is not None:
            self._receiver.batches.clear()

    def _silence(self) -> None:
        self.stopped = self.removal.stopped = True
        at_once(self.silencing())
        self.end_batches()
        self.ingest.end_fast()
        self.direct_get.stop()
        if self.sourcing is not None:
            self.sourcing.stop()
        self.contents.stop()
        self.compactor.halt()

    # --- what happens to messages

    def committed(self, last: int) -> None:
        """Take note that the messages up to the sequence `last` are safe, and let consumers deliver them."""
        self.committed_seq = last
        self.contents.update_usage()
        if self.compacts and self.compactor.idle and not self.stopped:
            self.compactor.nudge()
        for consumer in list(self._served):
            try:
                consumer.on_append(last)
            except Exception as error:  # one consumer's error must not keep messages from the others
                text = f"{type(error).__name__}: {error}"
                self.output.log_failure(f"could not wake consumer '{consumer.name}': {text}")

    def commit_failed(self, error: BaseException) -> bytes:
        """Return the answer to the publishers, because the disk has failed."""
        self.output.log_failure(f"can not be written: {error}")
        advisories.storage_failed(self.host, self.name, error)
        return self.ingest.refusal(api_error("JSStreamStoreFailedF", err=f"stream store failed: {error}"))

    def _save_offsets(self) -> None:
        self.origin_target.save_offsets()

    def removed(self, sequence: int, subject: str) -> None:
        """Take note that a message left the store, and tell the consumers that may wait for it."""
        if self.expiry.active:
            self.expiry.forget(sequence)
        if self.sourcing is not None:
            self.source_offsets.removed(sequence)
        for consumer in self.consumers.concerned(sequence, subject):
            consumer.on_removed(sequence, subject)
        self.contents.update_usage()
        if self.ack_queue.idle:
            self.ack_queue.wake()

    def leave_marker(self, subject: str, header: bytes) -> None:
        """Store a delete marker for `subject`, with this header; log it if that fails."""
        try:
            self.ingest.store(subject, header, b"")
        except ApiError as error:
            self.host.log.warning(f"No delete marker for {subject!r} in '{self.name}': {error.description}")
        self.ack_queue.wake()

    # --- changes

    def apply(self, config: StreamConfig) -> None:
        """Take over a configuration that `check_update` allowed."""
        at_once(self.applying(config))

    def applying(self, config: StreamConfig) -> Steps[None]:
        """Do what `apply` does, in steps. A stream that stops meanwhile is left as it is."""
        old, self.config = self.config, config
        self.ingest.configure(config)
        self._allow_batches()
        yield from self.contents.configuring(config)
        yield from self.subscriptions.changing(self._wanted())
        if self.stopped or self.config is not config:
            return
        self.direct_get.configure(self.config)
        self._follow(old)
        self.remove_in_turns(self._fitting(old))

    def _fitting(self, old: StreamConfig) -> Steps[int]:
        """Remove what the configuration no longer allows; return how many messages that were."""
        config, gone = self.config, 0
        if config.discard == "old" and 0 < config.max_msgs < self.store.messages:
            gone += yield from self.removal.purging(keep=config.max_msgs)
        gone += yield from self.limits.enforcing()
        if config.retention != old.retention:
            gone += yield from self.removal.sweeping()
        return gone

    def remove_in_turns(self, steps: Steps[int]) -> None:
        """Run steps that remove messages, over the next turns of the loop if there are many."""
        self.removal.begin(steps)

    def _follow(self, old: StreamConfig) -> None:
        config = self.config
        if config.mirror == old.mirror and config.sources == old.sources:
            return
        if self.sourcing is not None and config.mirror is None and old.mirror is not None:
            self.sourcing.stop()
            self.sourcing = None
        if self.sourcing is not None:
            self.sourcing.configure()
        else:
            self.start_sourcing()
