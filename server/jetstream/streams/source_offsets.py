"""SourceOffsets: how far each source was read, kept safe from a purge or an expiry of the copies.

Each stored copy has the offset in its header (`Nats-Stream-Source`). The saved offsets outlive the copies,
and with them a start need not read all copies.

Promises: a saved offset is never ahead of what is stored. Offsets are saved at a stop, before a purge, soon
after the newest copy of a source was removed, and from time to time while sources are read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ....protocol import headers
from ....store.errors import StoreError
from ....store.stream import StreamStore
from ...clock import SECOND, Clock, Timer
from . import source_header

EVERY = 30 * SECOND  # between two saves while sources are read
SOON = SECOND  # until a save when a newest copy was removed


class SourceOffset(NamedTuple):
    """The sequence of the origin that was copied last, and the origin's identity ("" if unknown)."""

    sequence: int
    identity: str


class SourceOffsets:
    """The offsets of one stream's sources, by source index."""

    def __init__(self, store: StreamStore, clock: Clock, save: Callable[[], None]) -> None:
        self._store = store
        self._clock = clock
        self._save = save
        self._timer: Timer | None = None
        self._due = 0
        self._newest: dict[str, int] = {}  # index -> sequence of its newest copy
        self._known: dict[str, SourceOffset] = {}
        self._read_up_to = 0  # the store's last sequence when the known offsets were saved

    def load(self, document: Mapping[str, Any]) -> None:
        """Take in what `to_json` returned, and then the copies stored after it was saved. Blocks."""
        self._read_up_to = int(document.get("up_to", 0))
        for index, (sequence, identity) in document.get("positions", {}).items():
            self._known[index] = SourceOffset(int(sequence), str(identity))
        self._scan()

    def _scan(self) -> None:
        """Read the newest copy of each source, going backwards to where the offsets were saved."""
        seen: set[str] = set()
        floor = max(self._read_up_to + 1, self._store.first_seq, 1)
        for sequence in reversed(list(self._store.headed(floor))):
            try:
                block = self._store.get(sequence).header
            except StoreError:
                continue
            value = headers.get(block, source_header.HEADER) if block else None
            found = source_header.read(value) if value else None
            if found is None:
                continue
            key = found.source or found.origin
            if key not in seen:
                seen.add(key)
                self._newest[key] = sequence
                self._known[key] = SourceOffset(found.sequence, found.identity)

    def of(self, index: str) -> SourceOffset | None:
        """Return the offset of a source, by its index or, for old copies, by its origin's name alone."""
        return self._known.get(index) or self._known.get(index.split(" ", 1)[0])

    def known(self) -> list[tuple[str, SourceOffset]]:
        """Return all offsets as (source index, offset)."""
        return list(self._known.items())

    def note(self, index: str, position: SourceOffset, copy: int) -> None:
        """Take note that the message at `position` was stored as the copy `copy` (a sequence here)."""
        self._known[index] = position
        self._newest[index] = copy
        if self._timer is None:
            self._arm(EVERY)

    def forget(self, index: str) -> None:
        """Drop the offset of a source that was removed or that starts over."""
        self._known.pop(index, None)
        self._newest.pop(index, None)

    def removed(self, sequence: int) -> None:
        """Take note that a message left the store; save soon if it was the newest copy of a source."""
        if sequence in self._newest.values():
            self._arm(SOON)

    def _arm(self, delay: int) -> None:
        due = self._clock.now() + delay
        if self._timer is not None:
            if due >= self._due:
                return
            self._timer.cancel()
        self._due = due
        self._timer = self._clock.call_later(delay, self.save)

    def save(self) -> None:
        """Save now, and cancel the timer."""
        self.stop()
        self._save()

    def all_committed(self, committed: int) -> bool:
        """Return whether the newest copies of all sources are on disk, up to the sequence `committed`."""
        return all(sequence <= committed for sequence in self._newest.values())

    def to_json(self) -> dict[str, Any]:
        """Return what `load` takes. It may be saved once all that is stored now is on disk."""
        if not self._known:
            return {}
        positions = {index: list(position) for index, position in self._known.items()}
        return {"up_to": self._store.last_seq, "positions": positions}

    def stop(self) -> None:
        """Cancel the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
