"""SourceProposals: what a leader's mirror or sources bring, on its way into the log.

Promises: in order, many in one entry, one entry under way at a time; whoever waits (`after`) is called when
all that came before is agreed on; when something is refused or lost, the origin it came from begins again
from the offset that the replicas agree on, and what came after it is dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ....protocol.errors import ApiError
from .entry import Entry, MirroredMsgs, SourcedMsgs

if TYPE_CHECKING:
    from ...task_executor import Done, TaskExecutor
    from .stream import Outcome

Refused = Callable[[ApiError | None], None]
Order = Callable[[Entry, Callable[["Outcome | Exception"], None]], None]


class SourceProposals:
    """Those of one stream. `order` proposes."""

    def __init__(self, executor: TaskExecutor, now: Callable[[], int], order: Order) -> None:
        self._executor = executor
        self._now = now
        self._order = order
        self._messages: list[Any] = []
        self._origins: list[Refused] = []
        self._waiting: list[Done] = []
        self._kind: type[MirroredMsgs] | type[SourcedMsgs] = MirroredMsgs
        self._running = self._scheduled = False

    def add(self, kind: type[MirroredMsgs] | type[SourcedMsgs], message: Any, refused: Refused) -> None:
        """A message has come; `refused` is called if it is not stored."""
        self._kind = kind
        self._messages.append(message)
        if refused not in self._origins:
            self._origins.append(refused)
        self._schedule()

    def after(self, done: Done) -> None:
        """Call `done` once all that came so far is agreed on, or with an error when it is not."""
        self._waiting.append(done)
        self._schedule()

    def _schedule(self) -> None:
        if not self._running and not self._scheduled:
            self._scheduled = True
            self._executor.soon(self._flush)

    def _flush(self) -> None:
        self._scheduled = False
        messages, self._messages = self._messages, []
        origins, self._origins = self._origins, []
        waiting, self._waiting = self._waiting, []
        if not messages:
            for done in waiting:
                done(None)
            return
        self._running = True

        def finished(outcome: Outcome | Exception) -> None:
            self._running = False
            if isinstance(outcome, Exception):
                self._drop(origins, waiting, outcome)
            else:
                for done in waiting:
                    done(None)
            if self._messages or self._waiting:
                self._schedule()

        self._order(self._kind(self._now(), messages), finished)

    def _drop(self, origins: list[Refused], waiting: list[Done], error: Exception) -> None:
        origins += [origin for origin in self._origins if origin not in origins]
        waiting += self._waiting
        self._messages, self._origins, self._waiting = [], [], []
        for done in waiting:
            done(error)
        for refused in origins:
            refused(error if isinstance(error, ApiError) else None)
