"""EntryRemoval: removes what an entry of the log removes, before the next entry or the next publish of its
run.

Promises: what is removed, and in which order, is the same on every replica, wherever the steps pause. Nothing
is removed except as part of an entry.
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

AT_ONCE = 512  # messages that a rollup may remove without a pause


class EntryRemoval(MessageRemoval):
    """The removals of one replica: `begin` notes them, and applying the entry runs them in `finishing`."""

    __slots__ = ("_due",)

    def __init__(self, contents: StreamContents, turns: Shared, events: RemovalEvents) -> None:
        super().__init__(contents, turns, events)
        self._due: deque[tuple[Steps[int], Callable[[int | Exception], object] | None]] = deque()

    def begin(self, steps: Steps[int], done: Callable[[int | Exception], object] | None = None) -> None:
        """Have the steps done with this entry; `done` gets the number that they return, or their error."""
        self._due.append((steps, done))

    def roll_up(self, subject: str, sequence: int) -> list[Answer] | None:
        """Roll up as `MessageRemoval` does, but at once if at most AT_ONCE messages can go.

        Which way is taken depends only on what is stored, so that all replicas take the same one.
        """
        store = self._contents.store
        literal = subject and is_literal(subject)
        if (store.subject_count(subject) if literal else store.messages) > AT_ONCE:
            return super().roll_up(subject, sequence)
        at_once(self.purging(subject=subject, up_to=sequence))
        return None

    def finishing(self) -> Steps[None]:
        """Run everything that is due. Raises StoreError, OSError: this replica would be different."""
        while self._due:
            steps, done = self._due.popleft()
            outcome: int | Exception
            try:
                outcome = yield from steps
            except (StoreError, OSError):
                raise
            except Exception as error:  # such an error is the same on all replicas
                outcome = error
            if done is not None:
                done(outcome)
            elif isinstance(outcome, Exception):
                self._events.store_failed(outcome)
