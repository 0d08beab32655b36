"""Wall clock, and the processor time of the servers."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

_CPUCLOCK_SCHED = 2


@dataclass(frozen=True)
class Measured:
    """What one run of a scenario gave.

    rate: messages per second.
    cpu: the servers' processor time, in µs per message; 0 where it is not measured.
    p50, p99: latencies in µs; 0 where the scenario has none.
    cut: whether the scenario was stopped before its end, because its time was over.
    """

    rate: float
    cpu: float
    p50: float = 0.0
    p99: float = 0.0
    cut: bool = False


class Meter:
    """Measures wall clock and the processor time of the servers, from when it is made."""

    def __init__(self, pids: Sequence[int]) -> None:
        self._pids = pids
        self._cpu = self._processor_seconds()
        self._began = time.perf_counter()

    @property
    def seconds(self) -> float:
        """How long it has measured."""
        return time.perf_counter() - self._began

    def read(self, count: int, latencies: Sequence[float] = (), *, cut: bool = False) -> Measured:
        """Return the figures of `count` messages. latencies: of some or all of them, in s."""
        seconds = self.seconds
        cpu = self._processor_seconds() - self._cpu
        p50, p99 = percentiles(latencies)
        return Measured(count / seconds, cpu / max(1, count) * 1e6, p50, p99, cut)

    def _processor_seconds(self) -> float:
        return sum(processor_seconds(pid) for pid in self._pids)


def percentiles(latencies: Sequence[float]) -> tuple[float, float]:
    """Return p50 and p99 in µs of latencies in s; 0 if there are none."""
    times = sorted(latencies) or [0.0]
    return times[len(times) // 2] * 1e6, times[len(times) * 99 // 100] * 1e6


def processor_seconds(pid: int) -> float:
    """Return the processor time that a process has taken, in user and kernel mode (Linux and macOS)."""
    if sys.platform == "linux":  # the clock of another process, as clock_getcpuclockid(3) makes its id
        return time.clock_gettime((~pid << 3) | _CPUCLOCK_SCHED)
    shown = subprocess.check_output(["ps", "-o", "time=", "-p", str(pid)], text=True).strip()
    minutes, _, seconds = shown.rpartition(":")
    return float(seconds) + 60 * float(minutes)
