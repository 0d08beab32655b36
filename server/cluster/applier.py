"""Applier: passes committed entries to the application of a group.

Promises:
- Entries are applied in order, each exactly once to the same state.
- While the application applies something in steps, one in each turn of the loop, it gets nothing else
  (`busy`).
- A proposal is answered when all entries that were passed along with it are applied.
- What has begun is finished, whatever becomes of the group.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..slices import Slices

if TYPE_CHECKING:
    from ...raft import CommittedEntries, Snapshot
    from ..task_executor import TaskExecutor
    from .proposals import Proposals
    from .state_machine import StateMachine


class Applier:
    """Applies the committed entries of one group.

    applied: the index up to which entries are applied.
    busy: whether the application is applying something in steps.
    grown: bytes applied since this was last set to 0.
    """

    __slots__ = ("_application", "_executor", "_proposals", "applied", "busy", "grown")

    def __init__(self, application: StateMachine, executor: TaskExecutor, proposals: Proposals) -> None:
        self._application = application
        self._executor = executor
        self._proposals = proposals
        self.applied = self.grown = 0
        self.busy = False

    def give(self, ready: CommittedEntries, ended: Callable[[Exception | None], None]) -> None:
        """Apply these entries.

        ended: called with the exception of the application, or with None at the end of its steps. It is not
        called for entries that are applied before `give` returns.
        """
        upto = ready.first + len(ready.entries) - 1
        if upto <= self.applied:
            self._proposals.applied(ready.first, ready.entries)
            return
        try:
            steps = self._application.apply(ready.data(after=self.applied), upto)
        except Exception as error:
            ended(error)
            return
        if steps is None:
            self._applied(ready, upto)
            return
        self.busy = True
        later = False

        def done(_: object) -> None:
            self.busy = False
            self._applied(ready, upto)
            if later:
                ended(None)

        def failed(error: Exception) -> None:
            self.busy = False
            ended(error)

        Slices(self._executor, steps, done, failed)
        later = True

    def _applied(self, ready: CommittedEntries, upto: int) -> None:
        self.applied = upto
        self.grown += sum(len(entry.data) for entry in ready.entries)
        self._proposals.applied(ready.first, ready.entries)

    def restore(self, snapshot: Snapshot) -> None:
        """Replace all state by that of a snapshot. Raises what the application raises."""
        self._application.restore(snapshot.data, snapshot.index)
        self.applied = snapshot.index
        self._proposals.jumped(snapshot.index)
