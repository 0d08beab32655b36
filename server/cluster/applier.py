"""Applier: gives the application of a group what is committed.

Promises: in order, each entry once for one state; while the application takes something in, in
steps, one in each turn of the loop, it is given nothing else (`busy`); proposals are answered when all that
was given with them is applied. What has begun goes on to its end, whatever becomes of the group.
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
    """applied: up to which index. grown: bytes applied since that was last set to 0."""

    __slots__ = ("_application", "_executor", "_proposals", "applied", "busy", "grown")

    def __init__(self, application: StateMachine, executor: TaskExecutor, proposals: Proposals) -> None:
        self._application = application
        self._executor = executor
        self._proposals = proposals
        self.applied = self.grown = 0
        self.busy = False

    def give(self, ready: CommittedEntries, ended: Callable[[Exception | None], None]) -> None:
        """Have these entries applied.

        ended: gets what the application raised; it is not called for what is applied before `give` returns.
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
        """Have all state replaced by that of a snapshot. Raises what the application raises."""
        self._application.restore(snapshot.data, snapshot.index)
        self.applied = snapshot.index
        self._proposals.jumped(snapshot.index)
