"""One client of a benchmark: what its work needs, in the process where it runs.

A `ClientRun` waits until all clients are ready, tells the parent how far it is, and keeps the pace that
--sleep and --throughput ask for. The clock is the system's monotonic one, which all processes share.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import NamedTuple

from ...client import BlockingConnection, Frames, TimedOut
from .sample import BenchmarkSample, Latencies
from .settings import SECOND, BenchmarkSettings

PROGRESS = SECOND // 10  # between two reports to the parent
POLL = 1.0  # seconds of sleep after which PINGs are answered
WAIT_SECONDS = (
    30.0  # seconds; how long to wait for the server in the end, or for a message before looking again
)

now = time.monotonic_ns


class ClientPlan(NamedTuple):
    """A client's part: its number from 0, its messages, and how many the clients before it have."""

    number: int
    messages: int
    offset: int


class ClientRun:
    """A client at work.

    plan: its part.
    connection: its own connection.
    wait: returns when all clients are ready; called once.
    report: takes the number of messages done since the last call.
    """

    def __init__(
        self,
        plan: ClientPlan,
        settings: BenchmarkSettings,
        connection: BlockingConnection,
        wait: Callable[[], None],
        report: Callable[[int], None],
    ) -> None:
        self.plan = plan
        self.settings = settings
        self.connection = connection
        self.latencies = Latencies()
        self.notes: list[str] = []  # for the user, once the run has ended
        self._wait = wait
        self._report = report
        self._unreported = 0
        self._report_at = 0
        self._begun = 0
        rate = settings.throughput / settings.clients if settings.throughput > 0 else 0.0
        self._gap = SECOND / rate if rate else 0.0  # ns between messages

    @property
    def messages(self) -> int:
        """How many messages this client has to do."""
        return self.plan.messages

    @property
    def paced(self) -> bool:
        """Whether messages are sent one by one, or few at a time, instead of as fast as possible."""
        return bool(self.settings.sleep or self._gap)

    def ready(self, *, staggered: bool = False) -> None:
        """Wait until all clients are ready.

        staggered: with --sleep, begin at a random moment of the first sleep, unless this is the first client.
        """
        self._wait()
        if staggered and self.settings.sleep and self.plan.number:
            self._rest(random.uniform(0, self.settings.sleep / SECOND))
        self._begun = now()
        self._report_at = self._begun + PROGRESS

    def begin(self) -> None:
        """Measure from now on, instead of from the moment when all were ready."""
        self._begun = now()

    def advance(self, messages: int) -> None:
        """Count messages as done."""
        self._unreported += messages
        if now() >= self._report_at:
            self._report(self._unreported)
            self._unreported = 0
            self._report_at = now() + PROGRESS

    def at_once(self, most: int) -> int:
        """Return how many messages to send together at the pace asked for, `most` at most."""
        if self.settings.sleep:
            return 1
        return max(1, min(most, int(SECOND / 100 / self._gap))) if self._gap else most

    def throttle(self, sent: int) -> int:
        """Sleep as --sleep and --throughput ask for after `sent` messages; return for how many ns."""
        wait = self.settings.sleep / SECOND
        if self._gap:
            due = self._begun + sent * self._gap
            wait = max(wait, (due - now()) / SECOND)
        if wait <= 0:
            return 0
        before = now()
        self._rest(wait)
        return now() - before

    def _rest(self, seconds: float) -> None:
        ends = now() + seconds * SECOND
        while (left := (ends - now()) / SECOND) > 0:
            time.sleep(min(left, POLL))
            self.connection.poll()

    def sample(self, size: int) -> BenchmarkSample:
        """Return what was measured until now; `size` is the number of bytes in all payloads."""
        ended = now()
        self._report(self._unreported)
        return BenchmarkSample(self.messages, size, self._begun, ended, self.latencies)

    def take(self, wait_seconds: float = WAIT_SECONDS) -> Frames:
        """Return all messages that have arrived. Wait up to `wait_seconds` for the first."""
        try:
            return self.connection.take(wait_seconds)
        except TimedOut:
            return Frames()


Work = Callable[[ClientRun], BenchmarkSample]
