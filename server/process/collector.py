"""The policy for Python's collector of cycles, in a process that is a server.

What a pass of the collector costs is what it walks over, and nothing can interrupt it: over the objects of
9,000 connections it takes 30 ms, over the names of 1,000,000 subjects 130. Almost all that a server drops is
freed at once, by its count of references, connections among it (server/connection/part.py); the collector is
there for what ended and is tied to itself, such as a consumer that existed for long. So:

- A young pass walks over `YOUNG` * (`RUNS` + 2) objects at most. What it leaves over is frozen: put where no
  later pass looks.
- A whole pass looks there too. It is done when the objects that live have doubled since the last one, and
  waits for a moment in which the server is idle. If none comes until there is `PATIENCE` times as
  much to look at, it is done all the same.

So the dead that hold each other are never many more than what is alive, or than `LEAST` objects.

An interpreter has one collector: only what owns the process may set a policy, see server/embed.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..clock import Clock, Timer

YOUNG = 5000  # objects made, less those freed, until a pass
RUNS = 2  # passes over those alone until one over what they left
_NEVER = 1_000_000
LEAST = 300_000  # objects more before a whole pass is worth its time
PATIENCE = 4
EVERY = 1_000_000_000  # ns, the length of a moment
_QUIET = 0.03  # of one processor


class Collector:
    """The policy at work, from `start` to `stop`.

    spent: ns of processor time of the process until now.
    """

    def __init__(self, clock: Clock, spent: Callable[[], int] = time.process_time_ns) -> None:
        self._clock = clock
        self._spent = spent
        self._base = 0  # objects that were there at the start, and stay
        self._known = 0  # those besides that were alive after the last whole pass
        self._more = 0  # frozen since then; some may be gone
        self._timer: Timer | None = None
        self._before = (0, 0)  # wall and processor time when the moment began

    def start(self) -> None:
        """Set the policy; what exists now stays as long as the server."""
        self._whole()
        self._base, self._known = self._known, 0
        gc.set_threshold(YOUNG, RUNS, _NEVER)
        gc.callbacks.append(self._passed)
        self._watch()

    def stop(self) -> None:
        """Watch no more; the thresholds stay as they are."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._passed in gc.callbacks:
            gc.callbacks.remove(self._passed)

    def _passed(self, phase: str, info: dict[str, int]) -> None:
        """After each pass, on whichever thread it was."""
        if phase == "stop" and info["generation"]:
            self._more += len(gc.get_objects(generation=2))
            gc.freeze()

    def _watch(self) -> None:
        self._before = (self._clock.now(), self._spent())
        self._timer = self._clock.call_later(EVERY, self._look)

    def _look(self) -> None:
        most = max(self._known, LEAST)
        if self._more >= most and (self._more >= PATIENCE * most or self._quiet()):
            alive = gc.get_freeze_count() - self._base
            self._known = min(self._known, alive)
            self._more = alive - self._known
            if self._more >= most:
                self._whole()
        self._watch()

    def _quiet(self) -> bool:
        """Whether little was done since `_before`."""
        began, spent = self._before
        return self._spent() - spent <= _QUIET * (self._clock.now() - began)

    def _whole(self) -> None:
        gc.unfreeze()
        gc.collect()
        gc.freeze()
        self._known, self._more = gc.get_freeze_count() - self._base, 0
