"""The policy for Python's cycle collector in a process that is a server.

The cost of a collector pass depends on how many objects it walks over, and nothing can interrupt it. Over the
objects of 9,000 connections it takes 30 ms, over the names of 1,000,000 subjects 130 ms. Almost all objects
that a server drops are freed at once, by their reference count, including connections
(server/connection/connection_part.py). The collector is needed for ended objects in a reference cycle, such
as a consumer that existed for long. So:

- A young pass walks over at most `YOUNG` * (`RUNS` + 2) objects. Those that survive are frozen: put where no
  later pass looks.
- A whole pass looks at frozen objects, too. It is due when the living objects have doubled since the last
  one, and waits for a moment in which the server is idle. If no such moment comes, it is done when there is
  `GROWTH` times as much to look at.

So dead cycles never have many more objects than the living ones, or than `LEAST`.

Until the server accepts clients there is nobody to wait for a pass, and hardly anything to free: importing
left 1,000 dead objects of 41,000. So what exists at the start is frozen without a pass, and a young pass
walks over more. These passes took a tenth of the time until a server with JetStream was ready.

An interpreter has one collector. Only the owner of the process may set a policy, see server/embed.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..clock import Clock, Timer

YOUNG = 5000  # objects created, less those freed, that start a pass
STARTING = 100_000  # the same, until clients are served
RUNS = 2  # passes over the youngest objects before one over what they left
_NEVER = 1_000_000
LEAST = 300_000  # more objects that make a whole pass worth its time
GROWTH = 4  # times as many frozen objects as make a pass due, after which it no longer waits
EVERY = 1_000_000_000  # ns between two checks, the length of a "moment"
_QUIET = 0.03  # share of one processor


class Collector:
    """Applies the policy from `start` to `stop`.

    spent: returns the processor time of the process until now, in ns.
    """

    def __init__(self, clock: Clock, spent: Callable[[], int] = time.process_time_ns) -> None:
        self._clock = clock
        self._spent = spent
        self._base = 0  # objects that were there at the start, which stay
        self._alive_before = 0  # other objects that were alive after the last whole pass
        self._frozen_since = 0  # objects frozen since then, of which some may be gone
        self._timer: Timer | None = None
        self._before = (0, 0)  # wall and processor time (ns) when the moment began

    def start(self) -> None:
        """Set the policy, for a server that starts. Objects that exist now are kept as long as the server.

        They are not walked over: a process that forks servers shares memory with them, and what the collector
        has not touched stays shared.
        """
        gc.freeze()
        self._base = gc.get_freeze_count()
        self._alive_before = self._frozen_since = 0
        gc.set_threshold(STARTING, RUNS, _NEVER)
        gc.callbacks.append(self._passed)
        self._watch()

    def serve(self) -> None:
        """Keep young passes short from now on: clients are served. None walks over what the start made."""
        self._frozen_since += len(gc.get_objects())
        gc.freeze()
        gc.set_threshold(YOUNG, RUNS, _NEVER)

    def stop(self) -> None:
        """Stop watching. The thresholds stay as they are."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._passed in gc.callbacks:
            gc.callbacks.remove(self._passed)

    def _passed(self, phase: str, info: dict[str, int]) -> None:
        """Freeze the surviving objects after a pass, on whichever thread it ran."""
        if phase == "stop" and info["generation"]:
            self._frozen_since += len(gc.get_objects(generation=2))
            gc.freeze()

    def _watch(self) -> None:
        self._before = (self._clock.now(), self._spent())
        self._timer = self._clock.call_later(EVERY, self._check)

    def _check(self) -> None:
        most = max(self._alive_before, LEAST)
        if self._frozen_since >= most and (self._frozen_since >= GROWTH * most or self._quiet()):
            alive = gc.get_freeze_count() - self._base
            self._alive_before = min(self._alive_before, alive)
            self._frozen_since = alive - self._alive_before
            if self._frozen_since >= most:
                self._whole()
        self._watch()

    def _quiet(self) -> bool:
        """Whether the process has done little since `_before`."""
        began, spent = self._before
        return self._spent() - spent <= _QUIET * (self._clock.now() - began)

    def _whole(self) -> None:
        gc.unfreeze()
        gc.collect()
        gc.freeze()
        self._alive_before, self._frozen_since = gc.get_freeze_count() - self._base, 0
