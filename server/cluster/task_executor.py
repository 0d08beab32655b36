"""How a group gets work done later or elsewhere; JetStream's `LoopTaskExecutor` is one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

Done = Callable[[BaseException | None], None]


class TaskExecutor(Protocol):
    """A loop and its worker threads."""

    def soon(self, callback: Callable[[], None]) -> None:
        """Run `callback` when what is being handled now is done."""

    def work(self, job: Callable[[], object], done: Done) -> object:
        """Run `job` where it may block, then `done` on the loop, with the job's exception if it raised."""
