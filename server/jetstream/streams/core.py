"""Stream: stores the messages of its subjects, and keeps them as its configuration says.

Promises: an acknowledged message is on disk (file storage); consumers only see committed messages; the store
holds no more than the configuration allows; a stop and a start change nothing but the consumers' clocks.

Each part knows `StreamContents` and a port of its own, never the stream: `Ingest` takes publishes,
`MessageRemoval` removes messages, the ack queue commits and answers, `DirectGet` reads, and `Sourcing`
follows the origins of a mirror or of sources.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ....protocol.api.stream import StreamConfig
from ....protocol.errors import ApiError, api_error
from ....protocol.identifier import name_hash
from ....protocol.timestamp import format_rfc3339
from ....store.errors import NotFound
from ....store.stream import StreamStore
from ...slices import Steps, at_once
from .commit import AckQueue, Answer, GroupCommit
from .compactor import Compactor
from .contents import StreamContents
from .context import StreamContext, StreamDeps
from .direct import DirectGet
from .ingest import Duplicate, Ingest
from .readers import Readers, StreamReader
from .removal import MessageRemoval
from .source_offsets import SourceOffset, SourceOffsets
from .sourcing import Sourcing
from .subscriptions import StreamSubscriptions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ...task_executor import Done
    from .origin_consumer import Origin

# The outcome of a request: a number (0 or False: nothing was done), or the error.
Ordered = int | BaseException

R = TypeVar("R", bound=StreamReader)  # what reads the stream: its consumers, a layer above


class Stream(Generic[R]):
    """One stream of an account.

    label: the account and the name, for the log.
    created: the time of its creation, ns.
    consumers: the consumers that are served, by name.
    offline_consumers: why each consumer on the disk that cannot be read is offline, by name.
    committed_seq: the last sequence that consumers may get.
    compacts: whether it frees the disk space of removed messages by itself, in the background.
    sourcing: follows the origins once `start_sourcing` was called; None for a stream without origins.
    stopped: whether it has ended and takes nothing more.
    deleting: whether it is being deleted, so that its consumers end too.
    """

    def __init__(
        self, config: StreamConfig, store: StreamStore, context: StreamContext, created: int
    ) -> None:
        self.config = config
        self.name = config.name
        self.store = store
        self.context = context
        self.account = context.account
        self.host = context.host
        self.clock = context.host.clock
        self.domain = context.host.domain
        self.label = f"{context.account.name} > {config.name}"
        self.created = created
        self.consumers: Readers[R] = Readers()
        self._served = self.consumers.values()  # a live view
        self.offline_consumers: dict[str, str] = {}
        self.deps = self._new_deps()
        self.quota = self.deps.quota
        self.committed_seq = store.last_seq
        self.sourcing: Sourcing | None = None
        self.stopped = self.deleting = False
        self._halted: list[R] = []
        self.compacts = config.storage == "file"
        self.ack_queue: AckQueue = self._new_ack_queue()
        self.compactor = Compactor(store, self.clock, self.host.executor, self._compaction_failed)
        self.source_offsets = SourceOffsets(store, self.clock, self._save_offsets)
        self.contents = contents = StreamContents(
            config,
            store,
            self.deps,
            self.ack_queue,
            self.source_offsets,
            self,
            unreadable=self.offline_consumers,
        )
        self.limits = contents.limits
        self.retention = contents.retention
        self.expiry = contents.expiry
        self.dedupe = contents.dedupe
        self.removal = self._removal()
        self.ingest = Ingest(contents, self, domain=self.domain)
        self.subscriptions = self._new_subscriptions()
        self.direct_get = DirectGet(config, store, self.account, self.host, self.send, self.log_failure)

    def _new_deps(self) -> StreamDeps:
        """Return what decides about the messages: here, this server's clock, random numbers and consumers."""
        quota = self.context.limits.quota(self.config.storage)
        return StreamDeps(self.clock, self.clock, self.clock, self.host.random_below, quota, self.consumers)

    def _removal(self) -> MessageRemoval:
        """Return what removes messages: here, in the next turns of the loop."""
        return MessageRemoval(self.contents, self.host.turns, self)

    def _new_ack_queue(self) -> AckQueue:
        """Return what answers publishers: here, when the messages are on this disk."""
        return GroupCommit(
            self.store,
            self.host.executor,
            self.send,
            self.account.publish_each,
            self._committed,
            self._failed,
        )

    def _new_subscriptions(self) -> StreamSubscriptions:
        """Return the subscriptions to the stream's subjects, none made yet."""
        return StreamSubscriptions(self.account, self.ingest.receive, self.ingest.read)

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
        if self.sourcing is None and (self.config.mirror is not None or self.config.sources):
            caught_up = self.direct_get.mirror_caught_up
            self.sourcing = Sourcing(self.contents, self.context, self, caught_up, self.log_failure)
            self.sourcing.start()

    def _wanted(self) -> list[str]:
        """Return the subjects to subscribe to: none for a mirror."""
        return [] if self.config.mirror is not None else self.config.subjects

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
        self._halted = [consumer for consumer in self._served if not consumer.stopped]
        for consumer in self._halted:
            consumer.halt()
        self.ack_queue.halt()

    def write_out(self) -> None:
        """Write everything to disk. Blocks; may run in any thread. Raises OSError and StoreError."""
        self.compactor.wait()
        for consumer in self._halted:
            consumer.write_out()
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
        for consumer in list(self._served):
            consumer.stop()
        self.ack_queue.close()
        self.contents.end_usage()
        return self.store

    def delete(self) -> None:
        """End the stream and its consumers. The caller removes the stream's folder."""
        self._silence()
        self.compactor.wait()
        for consumer in list(self._served):
            consumer.delete("stream deleted")
        self.consumers.clear()
        self.ack_queue.close()
        self.contents.end_usage()
        self.removal.release(self.store.release())

    def _silence(self) -> None:
        self.stopped = True
        at_once(self.silencing())
        self.direct_get.stop()
        if self.sourcing is not None:
            self.sourcing.stop()
        self.contents.stop()
        self.compactor.halt()

    # --- what happens to messages

    def send(self, subject: str, header: bytes, body: bytes, *, own: bool = False) -> None:
        """Publish in the stream's account; own: see Account.publish."""
        self.account.publish(subject, body, header=header, own=own)

    def send_each(self, messages: list[tuple[bytes, bytes]]) -> None:
        """Publish many (subject, body) in the stream's account."""
        self.account.publish_each(messages)

    def _committed(self, last: int) -> None:
        self.committed_seq = last
        self.contents.update_usage()
        if self.compacts and self.compactor.idle and not self.stopped:
            self.compactor.nudge()
        for consumer in list(self._served):
            try:
                consumer.on_append(last)
            except Exception as error:  # one consumer's error must not keep messages from the others
                text = f"{type(error).__name__}: {error}"
                self.log_failure(f"could not wake consumer '{consumer.name}': {text}")

    def _failed(self, error: BaseException) -> bytes:
        self.log_failure(f"can not be written: {error}")
        return self.ingest.refusal(api_error("JSStreamStoreFailedF", err=f"stream store failed: {error}"))

    def store_failed(self, error: Exception) -> None:
        """Log that a valid message could not be stored."""
        self.log_failure(f"can not store a message: {type(error).__name__}: {error}")

    def log_failure(self, text: str) -> None:
        """Log that something is wrong with this stream."""
        self.host.log.error(f"JetStream stream '{self.label}' {text}")

    def _compaction_failed(self, error: BaseException) -> None:
        self.host.log.warning(f"No space given back by '{self.label}': {error}")

    def update_usage(self) -> None:
        """Bring the account's usage up to date with the store."""
        self.contents.update_usage()

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

    def remove_acked(self, sequence: int, consumer: R) -> None:
        """Remove a message that `consumer` is done with, if the retention allows it."""
        self.retention.acked(sequence, consumer)

    def remove_all_acked(self, sequences: list[int], consumer: R) -> None:
        """Do what `remove_acked` does for many messages."""
        self.remove_in_turns(self.retention.all_acked(sequences, consumer))

    def leave_marker(self, subject: str, header: bytes) -> None:
        """Store a delete marker for `subject`, with this header; log it if that fails."""
        try:
            self.ingest.store(subject, header, b"")
        except ApiError as error:
            self.host.log.warning(f"No delete marker for {subject!r} in '{self.name}': {error.description}")
        self.ack_queue.wake()

    def roll_up(self, rollup: bytes, subject: str, sequence: int) -> list[Answer] | None:
        """Let the message just stored as `sequence` replace those before it.

        rollup: b"sub" for its subject, b"all" for the whole stream, b"" for none. Returns None if that is
        done. Otherwise returns a list: the answers put into it are sent once the roll-up is done and durable.
        """
        return self.removal.roll_up(subject if rollup == b"sub" else "", sequence) if rollup else None

    def purge(self, *, subject: str | None = None, up_to: int = 0, keep: int = 0) -> int:
        """Remove many messages; see StreamStore.purge. Returns their number."""
        return at_once(self.removal.purging(subject=subject, up_to=up_to, keep=keep))

    def delete_message(self, sequence: int, *, erase: bool) -> bool:
        """Remove one message; return False if there is none. erase: overwrite it on the disk."""
        subject = ""
        with suppress(NotFound):
            subject = self.store.subject_of(sequence)
        if self.store.remove(sequence, erase=erase) is None:
            return False
        self.removed(sequence, subject)
        return True

    # --- requests

    def order_purge(
        self, done: Callable[[Ordered], None], *, subject: str = "", up_to: int = 0, keep: int = 0
    ) -> None:
        """Purge in slices, and call `done` with the number of messages once that is durable."""

        def purged(count: int | Exception) -> None:
            if isinstance(count, Exception):
                done(count)
            else:
                self.ack_queue.after(lambda error: done(count if error is None else error))

        self.removal.begin(self.removal.purging(subject=subject, up_to=up_to, keep=keep), purged)

    def order_delete(self, done: Callable[[Ordered], None], sequence: int, *, erase: bool) -> None:
        """Remove a message, and call `done(True)` once that is durable; `done(False)` if there is none."""
        if self.delete_message(sequence, erase=erase):
            self.ack_queue.after(lambda error: done(True if error is None else error))
        else:
            done(False)

    # --- what comes from other streams

    def mirror(
        self, origin: Origin, sequence: int, subject: str, header: bytes, body: bytes, time: int
    ) -> None:
        """Store a message of the mirror's origin under its sequence. Raises ApiError."""
        self.ingest.replicate(sequence, subject, header, body, time)

    def copy(self, origin: Origin, sequence: int, subject: str, header: bytes, body: bytes) -> None:
        """Store the message `sequence` of a source, whose header names its origin. Raises ApiError."""
        try:
            copy = self.ingest.store(subject, header, body, sourced=True)
        except Duplicate:
            return
        self.source_offsets.note(origin.index, SourceOffset(sequence, origin.identity), copy)
        if self.ack_queue.idle:
            self.ack_queue.wake()

    def pass_by(self, sequence: int) -> None:
        """Skip to `sequence`: up to there the mirror's origin has nothing that is not here."""
        if self.store.last_seq >= sequence:
            return
        if self.store.messages == 0:
            self.purge(up_to=sequence + 1)
        else:
            self.store.skip_to(sequence)
            self.ack_queue.wake()

    def reset_source(self, index: str) -> None:
        """Forget how far a source was read, because its origin was deleted and made again."""
        self.source_offsets.forget(index)

    def when_safe(self, done: Done) -> None:
        """Call `done` once all that came from other streams so far is on disk."""
        self.ack_queue.after(done)

    def _save_offsets(self) -> None:
        """Save how far the sources were read, once the copies themselves are on disk."""
        document = self.source_offsets.to_json()
        if self.config.storage != "file" or not document:
            return
        if self.stopped or self.source_offsets.all_committed(self.committed_seq):
            self.context.save_offsets(self.config, self.created, document)
            return

        def done(error: BaseException | None) -> None:
            if error is None and not self.stopped:
                self.context.save_offsets(self.config, self.created, document)

        self.ack_queue.after(done)

    # --- changes

    def apply(self, config: StreamConfig) -> None:
        """Take over a configuration that `check_update` allowed."""
        at_once(self.applying(config))

    def applying(self, config: StreamConfig) -> Steps[None]:
        """Do what `apply` does, in steps. A stream that stops meanwhile is left as it is."""
        old, self.config = self.config, config
        self.ingest.configure(config)
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

    def readers(self) -> Sequence[R]:
        """Return a copy of the consumers, to notify them of what is removed."""
        return list(self._served)

    def prepared(self, filters: Sequence[str]) -> Steps[None]:
        """Prepare the store, in steps, for questions about these filters."""
        yield from self.store.preparing(filters)

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

    # --- consumers

    def public_consumers(self) -> list[R]:
        """Return the consumers that lists show and limits count, in the order of their names."""
        return [c for _, c in sorted(self.consumers.items()) if not c.direct]

    def lookup_consumer(self, name: str) -> R:
        """Find a consumer. Raises ApiError 10014 if there is none, 10195 if it cannot be read."""
        consumer = self.consumers.get(name)
        if consumer is None:
            self.must_be_readable(name)
            raise api_error("JSConsumerNotFoundErr")
        return consumer

    def must_be_readable(self, name: str) -> None:
        """Raise ApiError 10195 if the consumer is on the disk and cannot be read."""
        if name in self.offline_consumers:
            raise api_error("JSConsumerOfflineReasonErrF", err=self.offline_consumers[name])

    def consumer_changed(self) -> None:
        """Remove what nobody wants any more, after a consumer came, went or changed its filters."""
        self.remove_in_turns(self.removal.sweeping())
