"""StreamContents: the messages of a stream, and the rules that decide which of them are kept.

The parts of a stream that change its messages share this object and know nothing of the stream itself.

Promises:
- The account's usage is what the store holds.
- What the stream knew when it stopped is read back from the stored messages.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

from ....protocol import headers
from ....store.errors import StoreError
from ...slices import Steps, at_once
from .batch_headers import ID as BATCH_ID
from .batch_headers import is_unfinished, place_of
from .dedupe import HEADER as MSG_ID
from .dedupe import DedupeWindow
from .limits import StreamLimits
from .message_schedules import MessageSchedules
from .retention import InterestRetention
from .ttl import MessageTTLs

if TYPE_CHECKING:
    from ....protocol.api.stream import StreamConfig
    from ....store.message import StoredMessage
    from ....store.stream import StreamStore
    from .commit import AckQueue
    from .context import StreamDeps
    from .source_offsets import SourceOffsets

READ_BACK = 128  # messages read back in one step


class ContentsEvents(Protocol):
    """What a stream does when its contents change, or must change."""

    def removed(self, sequence: int, subject: str) -> None:
        """Take note that a message left the store."""

    def remove_in_turns(self, steps: Steps[int]) -> None:
        """Run steps that remove messages, over the next turns of the loop if there are many."""

    def leave_marker(self, subject: str, header: bytes) -> None:
        """Store a delete marker for `subject`, with this header."""


class StreamContents:
    """The contents of one stream.

    name: the name of the stream.
    config: the current configuration.
    store: the messages.
    deps: the clocks, random numbers, quota and consumers that decide about the messages.
    ack_queue: keeps the answers to stored messages until the messages are safe.
    source_offsets: how far the sources were read.
    limits: enforces max_msgs, max_bytes, max_msgs_per_subject and max_age.
    retention: removes what no consumer needs any more.
    expiry: ends the lifetimes of single messages (`Nats-TTL`).
    schedules: the messages that are schedules.
    dedupe: the message ids of the duplicate window.
    """

    __slots__ = (
        "_counted",
        "ack_queue",
        "config",
        "dedupe",
        "deps",
        "expiry",
        "limits",
        "name",
        "retention",
        "schedules",
        "source_offsets",
        "store",
    )

    def __init__(
        self,
        config: StreamConfig,
        store: StreamStore,
        deps: StreamDeps,
        ack_queue: AckQueue,
        source_offsets: SourceOffsets,
        events: ContentsEvents,
        *,
        unreadable: Collection[str],
    ) -> None:
        """Make the parts from the configuration. unreadable: see `InterestRetention`."""
        self.name = config.name
        self.config = config
        self.store = store
        self.deps = deps
        self.ack_queue = ack_queue
        self.source_offsets = source_offsets
        removed = events.removed
        self.limits = StreamLimits(config, store, deps.age_clock, removed, events.remove_in_turns)
        self.retention = InterestRetention(config, store, deps.consumers, removed, unreadable=unreadable)
        self.expiry = MessageTTLs(config, store, deps.ttl_clock, self.limits, removed, events.leave_marker)
        self.schedules = MessageSchedules(config, store, deps.schedule_clock)
        self.dedupe = DedupeWindow(config.duplicate_window)
        store.compress(config.compression == "s2")
        self._counted = 0

    # --- start and stop

    def recover(self, offsets: Mapping[str, Any]) -> None:
        """Read back what the stream knew when it stopped: message ids, TTLs and offsets of sources.

        offsets: what `SourceOffsets.to_json` returned when they were saved. Blocks.
        """
        if self.config.allow_atomic:
            self._drop_unfinished_batch()
        if self.config.sources:
            self.source_offsets.load(offsets)
        store = self.store
        window = self.config.duplicate_window
        if window > 0 and store.messages:
            start = store.seq_at(self.deps.clock.now() - window)
            at_once(self._reading_back(start, self.dedupe.load))
        last = store.last(">") if store.messages else None
        if last is not None and last.seq == store.last_seq:
            self.dedupe.last_id = headers.get(last.header, MSG_ID) or b""
        if self.expiry.active:
            at_once(self._reading_back(store.first_seq, self.expiry.load))
        if self.schedules.active:
            at_once(self._reading_back(store.first_seq, self.schedules.load))
        self.limits.inspect()

    def _drop_unfinished_batch(self) -> None:
        """Remove the messages of a batch whose end a crash kept from the disk: nobody was told of it.

        The end is missing if the last sequence has a message that does not end its batch. If there is no such
        message, it was on the disk once, and was removed or damaged.
        """
        store = self.store
        message = store.last(">") if store.messages else None
        if message is None or message.seq != store.last_seq or not is_unfinished(message.header):
            return
        identifier = headers.get(message.header, BATCH_ID)
        first = max(message.seq - place_of(message.header) + 1, store.first_seq)
        for sequence in range(message.seq, first - 1, -1):
            with suppress(StoreError):
                if headers.get(store.get(sequence).header, BATCH_ID) != identifier:
                    return
                store.remove(sequence)

    def _reading_back(self, sequence: int, load: Callable[[StoredMessage], None]) -> Steps[None]:
        """Call `load` with each message that has a header, from `sequence` on; skip damaged ones."""
        for count, headed in enumerate(list(self.store.headed(sequence)), 1):
            with suppress(StoreError):
                load(self.store.get(headed))
            if count % READ_BACK == 0:
                yield

    def starting(self) -> Steps[None]:
        """Begin to enforce the limits, in steps."""
        self.update_usage()
        self.expiry.rearm()
        self.schedules.rearm()
        yield from self.limits.recover()
        yield from self.retention.recover()
        self.update_usage()

    def stop(self) -> None:
        """Cancel the timers."""
        self.limits.stop()
        self.expiry.stop()
        self.schedules.stop()
        self.source_offsets.stop()

    # --- changes

    def configuring(self, config: StreamConfig) -> Steps[None]:
        """Take over a configuration.

        All of it applies at once, except that message TTLs which were not allowed before are read in steps.
        """
        old, self.config = self.config, config
        self.limits.configure(config)
        self.retention.configure(config)
        self.expiry.configure(config)
        self.schedules.configure(config)
        self.store.compress(config.compression == "s2")
        self.dedupe.resize(config.duplicate_window, self.deps.clock.now())
        if config.allow_msg_ttl and not old.allow_msg_ttl:
            yield from self._reading_back(self.store.first_seq, self.expiry.load)
            self.expiry.rearm()

    def update_usage(self) -> None:
        """Bring the account's usage up to date with the store."""
        size = self.store.bytes
        if size != self._counted:
            self.deps.quota.add(size - self._counted)
            self._counted = size

    def end_usage(self) -> None:
        """Take all of the stream's bytes out of the account's usage."""
        self.deps.quota.add(-self._counted)
        self._counted = 0
