"""The saver: carries a consumer's ledger to the disk.

Promises: at most one commit runs at a time; a change is on its way to the disk within `INTERVAL`; those
who must know (`after`) are called when all that had happened before is durable. A failed write is logged
and tried again with the next change: the state on the disk is then older, so messages come again rather
than get lost.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ....store.consumer import ConsumerStore
from ....store.errors import StoreError
from .alarm import Alarm
from .ledger import Ledger

if TYPE_CHECKING:
    from ..host import Host

INTERVAL = 100_000_000
PER_PENDING = 5_000  # ns more of rest per pending message: the state is written whole


class Saver:
    """Saves one consumer's ledger in its store."""

    __slots__ = ("_alarm", "_dirty", "_host", "_last", "_ledger", "_running", "_store", "_waiting", "_what")

    def __init__(self, store: ConsumerStore, ledger: Ledger, host: Host, what: str) -> None:
        self._store = store
        self._ledger = ledger
        self._host = host
        self._what = what
        self._alarm = Alarm(host.clock, self._begin)
        self._waiting: list[Callable[[], None]] = []
        self._dirty = False
        self._running = False
        self._last = 0

    def changed(self) -> None:
        """Save soon."""
        if self._dirty:
            return
        self._dirty = True
        if not self._running:
            self._arm()

    def _arm(self) -> None:
        rest = INTERVAL + len(self._ledger.pending) * PER_PENDING
        self._alarm.at(max(self._last + rest, self._host.clock.now()))

    def after(self, done: Callable[[], None]) -> None:
        """Save as soon as the disk is free, and then call `done`."""
        self._waiting.append(done)
        self._dirty = True
        if not self._running:
            # not at once: acks that came in the same read go in the same write
            self._alarm.at(self._host.clock.now())

    def _begin(self) -> None:
        if self._running or not self._dirty:
            return
        self._dirty = False
        waiting, self._waiting = self._waiting, []
        self._last = self._host.clock.now()
        try:
            self._store.save(self._ledger.state())
            commit = self._store.begin_commit()
        except (OSError, StoreError) as error:
            self._failed(error)
            return
        if commit is None:
            for done in waiting:
                done()
            return
        self._running = True

        def finished(error: BaseException | None) -> None:
            self._running = False
            self._store.finish(commit)
            if error is not None:
                self._failed(error)
            else:
                for done in waiting:
                    done()
            if self._waiting:
                self._alarm.at(self._host.clock.now())
            elif self._dirty:
                self._arm()

        self._host.runner.work(commit.run, finished)

    def _failed(self, error: BaseException) -> None:
        self._host.log.error(f"{self._what}: its state can not be written: {error}")

    def close(self) -> None:
        """Save what is not saved and let go of the file."""
        self._alarm.clear()
        self._waiting.clear()
        try:
            if self._dirty and not self._running:
                self._store.save(self._ledger.state())
                self._store.commit_sync()
            self._store.close()
        except (OSError, StoreError) as error:
            self._failed(error)

    def abandon(self) -> None:
        """Let go of the file, saving nothing: the consumer is deleted."""
        self._alarm.clear()
        self._waiting.clear()
        self._dirty = False
        try:
            self._store.close()
        except (OSError, StoreError) as error:
            self._failed(error)
