"""StagedStream: a stream that is being restored, kept apart from the served streams until it is complete.

Promises: `adopt` makes it one of the account's streams, with the same sequences and with its consumers at the
same positions. Before that nothing of it is visible, and a server that is restarted discards it.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import TYPE_CHECKING

from .....protocol.archive.entries import ArchiveEntry, ArchiveError
from .....protocol.errors import ApiError
from .....protocol.subject import has_wildcard, is_valid
from .....protocol.timestamp import format_rfc3339
from .....store.consumer import MemoryConsumer
from .....store.errors import StoreError
from .....store.memory import MemoryStream
from ....slices import at_once
from ...consumers import lifecycle
from ...consumers.config import check
from ...consumers.info import stamped
from ...streams.core import Stream
from ..document import writing
from ..recovery import bring_back
from .content import read_consumer, read_state

if TYPE_CHECKING:
    from .....protocol.api.stream import StreamConfig, StreamState
    from .....store.stream import StreamStore
    from ...consumers.core import Consumer
    from ..streams import AccountStreams
    from .content import SavedConsumer


class StagedStream:
    """One stream that is being restored.

    config: its configuration.
    store: the messages received so far.
    consumers: the consumers received so far.
    adopted: whether it was made one of the account's streams.
    """

    def __init__(self, account: AccountStreams, config: StreamConfig) -> None:
        """Open an empty store for the messages. Raises OSError and StoreError."""
        self._account = account
        self._log = account.host.log
        self.config = config
        self._stored = config.storage == "file"
        self._directory = account.directory.staging()
        self._state: StreamState | None = None
        self.consumers: list[SavedConsumer] = []
        self._whole = self.adopted = False
        if self._stored:
            self._directory.remove_stream(config.name)
        self.store: StreamStore = self._directory.open_stream(config.name) if self._stored else MemoryStream()

    def take(self, entry: ArchiveEntry) -> None:
        """Store the next entry of the archive. Raises ArchiveError or ApiError if it is not acceptable."""
        if self._state is None:
            self._state = read_state(entry)
            self.store.skip_to(max(self._state.first_seq, 1) - 1)
        elif entry.last:
            self.store.skip_to(self._state.last_seq)
            self._whole = True
        elif len(self.consumers) < self._state.consumer_count:
            self.consumers.append(self._validated(read_consumer(entry)))
        else:
            self._message(entry)

    def _validated(self, consumer: SavedConsumer) -> SavedConsumer:
        config, account = stamped(consumer.config), self._account
        bounds = lifecycle.bounds(account.host, account.limits.of(self.config.num_replicas))
        consumer.config = lifecycle.with_inactive_threshold(
            check(config, self.config, bounds, recovering=True)
        )
        lifecycle.check_new(self.config, consumer.config, consumer.name, list)
        return consumer

    def _message(self, entry: ArchiveEntry) -> None:
        seq, config = entry.seq, self.config
        if seq <= self.store.last_seq:
            raise ArchiveError(f"message {seq} stands after {self.store.last_seq}")
        if not is_valid(entry.name) or has_wildcard(entry.name):
            raise ArchiveError(f"message {seq} has no valid subject")
        if 0 <= config.max_msg_size < len(entry.header) + len(entry.body):
            raise ArchiveError(f"message {seq} exceeds the maximum message size")
        refused = self._account.limits.quota(config.storage, config.num_replicas).refusal(
            self.store.bytes + self.store.size_of(entry.name, len(entry.header), len(entry.body)),
            config.num_replicas,
        )
        if refused is not None:
            raise refused
        self.store.append_each(
            [(entry.name, entry.header, entry.body)], array("Q", [seq]), array("q", [entry.time])
        )

    def drop(self) -> None:
        """Delete it, unless it was adopted. Errors are logged."""
        if self.adopted:
            return
        try:
            self.store.delete()
            if self._stored:
                self._directory.remove_stream(self.config.name)
        except (OSError, StoreError) as error:
            self._log.warning(f"What was restored of {self.config.name} stays: {error}")

    def must_be_whole(self) -> None:
        """Raise ArchiveError if the end of the archive has not come."""
        if not self._whole:
            raise ArchiveError("it was cut short")

    def adopt(self, created: int, ended: Callable[[Consumer], None] | None = None) -> Stream[Consumer]:
        """Make it one of the account's streams, and start it. Raises ApiError, OSError and StoreError.

        created: the time of creation that the stream gets, ns. ended: see `lifecycle.adopt`.
        """
        account, config = self._account, self.config
        here = self.consumers
        self.adopted = True
        if self._stored:
            self.store.close()
            here = self._write(created)
            account.directory.adopt(self._directory, config.name)
            found = account.directory.read_stream(config.name)
            stream = None if found is None else bring_back(account, found, ended)
            if stream is None:
                raise StoreError(account.offline.get(config.name, "it cannot be opened"))
        else:
            stream = Stream(config, self.store, account.context(config.name), created)
            account.streams[config.name] = stream
            account.reserve(config, 1)
            stream.recover({})
        for consumer in here:
            kept = MemoryConsumer()
            kept.save(consumer.state)
            lifecycle.adopt(stream, consumer.name, consumer.config, created, kept, ended)
        stream.start()
        stream.start_sourcing()
        account.appeared(config.name)
        return stream

    def _write(self, created: int) -> list[SavedConsumer]:
        """Write the documents and the consumers that belong on the disk; return the other consumers."""
        name, directory, created_at = self.config.name, self._directory, format_rfc3339(created)
        others = []
        for consumer in self.consumers:
            if consumer.config.mem_storage:
                others.append(consumer)
                continue
            document = {"config": consumer.config.to_json(), "created": created_at}
            directory.write_consumer(name, consumer.name, document)
            store = directory.open_consumer(name, consumer.name)
            store.save(consumer.state)
            store.close()
        directory.write_stream(name, at_once(writing(self.config, created, self._account.marks.get(name))))
        return others


ERRORS = (ArchiveError, ApiError, StoreError, OSError, ValueError)
