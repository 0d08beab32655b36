"""OriginStorage: stores what the origins of a mirror or of sources bring, and how far the sources were read.

Promises: the offset of a source is saved only when the copies up to it are on disk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ....protocol.errors import ApiError
from . import source_header
from .dedupe import Duplicate
from .origin_consumer import OriginTarget
from .source_offsets import SourceOffset

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ....store.message import StoredMessage
    from ...task_executor import Done
    from .contents import StreamContents
    from .context import SaveOffsets
    from .ingest import Ingest
    from .origin_consumer import Origin
    from .removal import MessageRemoval


class SourceTarget(OriginTarget, Protocol):
    """An `OriginTarget` that also keeps how far the sources were read."""

    def save_offsets(self) -> None:
        """Save how far the sources were read, once the copies themselves are on disk."""


class CommittedStream(Protocol):
    """How much of a stream is safe."""

    @property
    def stopped(self) -> bool:
        """Whether the stream has ended, with everything on disk."""

    @property
    def committed_seq(self) -> int:
        """The sequence up to which everything is on disk."""

    @property
    def created(self) -> int:
        """When the stream was created, ns."""


class OriginStorage:
    """Stores them at once, in the stream's own store."""

    def __init__(
        self,
        contents: StreamContents,
        ingest: Ingest,
        removal: MessageRemoval,
        stream: CommittedStream,
        save: SaveOffsets,
    ) -> None:
        """save: see `StreamContext.save_offsets`."""
        self._contents = contents
        self._store = contents.store
        self._offsets = contents.source_offsets
        self._ack_queue = contents.ack_queue
        self._ingest = ingest
        self._removal = removal
        self._stream = stream
        self._save = save

    def mirror(self, origin: Origin, messages: Sequence[StoredMessage]) -> None:
        """Store messages of the mirror's origin under their sequences; see `OriginTarget`."""
        try:
            self._ingest.store_mirrored(messages)
        except ApiError:
            origin.copied = self._store.last_seq
            raise

    def copy(self, origin: Origin, messages: Sequence[StoredMessage], originals: Sequence[str]) -> None:
        """Store messages of a source; see `OriginTarget`."""
        at, label = 0, source_header.label(origin.index, origin.identity)
        while at < len(messages):
            at, newest = self._ingest.store_copies(messages, originals, at, label)
            if newest:
                self._note(origin, newest, self._store.last_seq)
            if at < len(messages):
                try:
                    self._copy_one(origin, messages[at], originals[at])
                except ApiError:
                    origin.copied = messages[at].seq - 1
                    raise
                at += 1

    def _copy_one(self, origin: Origin, message: StoredMessage, original: str) -> None:
        sequence, subject, header, body, _ = message
        header = source_header.labelled(header, origin.index, sequence, original, origin.identity)
        try:
            copy = self._ingest.store(subject, header, body, sourced=True)
        except Duplicate:
            return
        self._note(origin, sequence, copy)

    def _note(self, origin: Origin, sequence: int, copy: int) -> None:
        """Take note that the message `sequence` of the origin is stored as `copy`."""
        self._offsets.note(origin.index, SourceOffset(sequence, origin.identity), copy)
        if self._ack_queue.idle:
            self._ack_queue.wake()

    def skip_to(self, sequence: int) -> None:
        """Skip to `sequence`: up to there the mirror's origin has nothing that is not here."""
        if self._store.last_seq >= sequence:
            return
        if self._store.messages == 0:
            self._removal.purge(up_to=sequence + 1)
        else:
            self._store.skip_to(sequence)
            self._ack_queue.wake()

    def reset_source(self, index: str) -> None:
        """Forget how far a source was read, because its origin was deleted and made again."""
        self._offsets.forget(index)

    def when_safe(self, done: Done) -> None:
        """Call `done` once all that came from other streams so far is on disk."""
        self._ack_queue.after(done)

    def save_offsets(self) -> None:
        """Save how far the sources were read, once the copies themselves are on disk."""
        config, stream = self._contents.config, self._stream
        document = self._offsets.to_json()
        if config.storage != "file" or not document:
            return
        if stream.stopped or self._offsets.all_committed(stream.committed_seq):
            self._save(config, stream.created, document)
            return

        def done(error: BaseException | None) -> None:
            if error is None and not stream.stopped:
                self._save(self._contents.config, stream.created, document)

        self._ack_queue.after(done)
