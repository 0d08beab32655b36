"""What an entry of the log removes: all of it before the next entry, or the next publish of the same one.

Promises: what is removed, and in which order, is the same on every replica, wherever the steps rest. Nothing
is removed beside an entry.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from ....protocol.subject import is_literal
from ....store.errors import StoreError
from ...slices import at_once
from ..streams.removal import MessageRemoval

if TYPE_CHECKING:
    from ...slices import Shared, Steps
    from ..streams.commit import Answer
    from ..streams.contents import StreamContents
    from ..streams.removal import RemovalEvents

AT_ONCE = 512  # messages rolled up in one go


class EntryRemoval(MessageRemoval):
    """The removals of one replica: `begin` notes them, and who applies the entry has them done."""

    __slots__ = ("_due",)

    def __init__(self, contents: StreamContents, turns: Shared, events: RemovalEvents) -> None:
        super().__init__(contents, turns, events)
        self._due: deque[tuple[Steps[int], Callable[[int | Exception], object] | None]] = deque()

    def begin(self, steps: Steps[int], done: Callable[[int | Exception], object] | None = None) -> None:
        """Have the steps done with this entry; `done` gets the number that they come to."""
        self._due.append((steps, done))

    def roll_up(self, subject: str, sequence: int) -> list[Answer] | None:
        """As in `MessageRemoval`; little goes at once. What is little depends on what is stored alone."""
        store = self._contents.store
        literal = subject and is_literal(subject)
        if (store.subject_count(subject) if literal else store.messages) > AT_ONCE:
            return super().roll_up(subject, sequence)
        at_once(self.purging(subject=subject, up_to=sequence))
        return None

    def finishing(self) -> Steps[None]:
        """Do all that is due. Raises StoreError, OSError: this replica would not be like the others."""
        while self._due:
            steps, done = self._due.popleft()
            outcome: int | Exception
            try:
                outcome = yield from steps
            except (StoreError, OSError):
                raise
            except Exception as error:  # the same on all replicas
                outcome = error
            if done is not None:
                done(outcome)
            elif isinstance(outcome, Exception):
                self._events.store_failed(outcome)
