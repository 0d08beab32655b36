"""SourceEntries: applies entries that bring what a mirror or sources have copied from their origins.

Promises that what came already, because another leader asked for it again, is not stored twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ....protocol.errors import ApiError, api_error
from ....store.message import StoredMessage
from ..streams.dedupe import Duplicate
from ..streams.source_offsets import SourceOffset
from . import entry as entries

if TYPE_CHECKING:
    from ....store.stream import StreamStore
    from ...slices import Steps
    from ..streams.ingest import Ingest
    from ..streams.source_offsets import SourceOffsets
    from .entry import Outcome
    from .removal import EntryRemoval


class SourceEntries:
    """Applies them to one stream.

    store_failed: is called with an error of storing; raises it if it ends the replica.
    """

    def __init__(
        self,
        store: StreamStore,
        offsets: SourceOffsets,
        ingest: Ingest,
        removals: EntryRemoval,
        store_failed: Callable[[Exception], None],
    ) -> None:
        self._store = store
        self._offsets = offsets
        self._ingest = ingest
        self._removals = removals
        self._store_failed = store_failed

    def skip(self, entry: entries.Skip) -> Outcome:
        """Consume the sequences that the mirror's origin does not have."""
        self._store.skip_to(entry.last)
        return True

    def mirrored(self, entry: entries.MirroredMsgs) -> Steps[Outcome]:
        """Store messages of the mirror's origin under their sequences; return how many."""
        stored = 0
        for sequence, time, subject, header, body in entry.messages:
            if sequence > self._store.last_seq:  # another leader may have asked again for what came already
                self._ingest.store_mirrored([StoredMessage(sequence, subject, header, body, time)])
                stored += 1
                yield from self._removals.finishing()
                if stored % entries.RUN == 0:
                    yield
        return stored

    def copied(self, entry: entries.SourcedMsgs) -> Steps[Outcome]:
        """Store what came from sources; return how many, or the first refusal, which ends the entry."""
        stored = 0
        for index, identity, sequence, subject, header, body in entry.messages:
            known = self._offsets.of(index)
            if known is not None and known.identity == identity and sequence <= known.sequence:
                continue
            try:
                copy = self._ingest.store(subject, header, body, sourced=True)
                stored += 1
            except Duplicate as duplicate:
                copy = duplicate.sequence
            except ApiError as error:
                return error
            except Exception as error:  # one message must not end all replicas
                self._store_failed(error)
                return api_error("JSStreamStoreFailedF", err=str(error) or type(error).__name__)
            self._offsets.note(index, SourceOffset(sequence, identity), copy)
            yield from self._removals.finishing()
            if stored % entries.RUN == 0:
                yield
        return stored

    def forget(self, entry: entries.ForgetSource) -> Outcome:
        """Forget how far a source was read."""
        self._offsets.forget(entry.source)
        return True
