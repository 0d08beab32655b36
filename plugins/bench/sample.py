"""What a client measured, and the figures that follow from it.

`Latencies` keeps any number of durations in bounded memory: they are counted in buckets less than 0.1 % wide
(as HdrHistogram does), while the smallest, the largest, the average and the deviation are exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

MANTISSA = 10  # bits of a duration that its bucket keeps
PERCENTILES = {"p50": 50.0, "p90": 90.0, "p99": 99.0, "p99_9": 99.9}
MICRO = 1000  # ns
SECOND = 1_000_000_000


@dataclass(slots=True)
class Latencies:
    """Durations in ns."""

    count: int = 0
    total: int = 0
    squares: int = 0
    least: int = 0
    most: int = 0
    buckets: dict[int, int] = field(default_factory=dict)  # the lowest duration of each, and its count

    def add(self, duration: int) -> None:
        """Count one duration."""
        spare = duration.bit_length() - MANTISSA - 1
        low = duration >> spare << spare if spare > 0 else duration
        self.buckets[low] = self.buckets.get(low, 0) + 1
        if duration < self.least or not self.count:
            self.least = duration
        self.most = max(self.most, duration)
        self.count += 1
        self.total += duration
        self.squares += duration * duration

    def merge(self, other: Latencies) -> None:
        """Count the durations of `other` too."""
        if not other.count:
            return
        self.least = min(self.least, other.least) if self.count else other.least
        self.most = max(self.most, other.most)
        self.count += other.count
        self.total += other.total
        self.squares += other.squares
        for low, count in other.buckets.items():
            self.buckets[low] = self.buckets.get(low, 0) + count

    def percentile(self, percent: float) -> int:
        """Return the duration that `percent` of all do not exceed, to 0.1 %."""
        wanted = max(1, math.ceil(percent / 100 * self.count))
        if wanted >= self.count:
            return self.most
        for low in sorted(self.buckets):
            wanted -= self.buckets[low]
            if wanted <= 0:
                return max(low, self.least)
        return self.most

    def figures(self) -> dict[str, float]:
        """Return the figures in microseconds: min, avg, max, the percentiles, and the standard deviation."""
        average = self.total / self.count
        variance = max(0.0, self.squares / self.count - average**2)
        return {
            "min": self.least / MICRO,
            "avg": average / MICRO,
            "max": self.most / MICRO,
            **{name: self.percentile(percent) / MICRO for name, percent in PERCENTILES.items()},
            "stddev": math.sqrt(variance) / MICRO,
        }


@dataclass(slots=True)
class BenchmarkSample:
    """What one client did, or all of them together.

    begun, ended: ns of a clock that all processes share.
    """

    messages: int
    size: int  # bytes of all payloads
    begun: int
    ended: int
    latencies: Latencies = field(default_factory=Latencies)

    @property
    def seconds(self) -> float:
        """How long it took."""
        return (self.ended - self.begun) / SECOND

    @property
    def rate(self) -> float:
        """Messages per second."""
        return self.messages / self.seconds if self.ended > self.begun else 0.0

    @property
    def bytes_rate(self) -> float:
        """Bytes of payload per second."""
        return self.size / self.seconds if self.ended > self.begun else 0.0

    def document(self) -> dict[str, object]:
        """Return the figures as a document; latencies in microseconds, where there are any."""
        figures: dict[str, object] = {
            "messages": self.messages,
            "bytes": self.size,
            "seconds": self.seconds,
            "messages_per_second": self.rate,
            "bytes_per_second": self.bytes_rate,
        }
        if self.latencies.count:
            figures["latency_microseconds"] = self.latencies.figures()
        return figures


def total(samples: Sequence[BenchmarkSample]) -> BenchmarkSample:
    """Return all samples as one, from the first begin to the last end."""
    latencies = Latencies()
    for sample in samples:
        latencies.merge(sample.latencies)
    return BenchmarkSample(
        sum(sample.messages for sample in samples),
        sum(sample.size for sample in samples),
        min(sample.begun for sample in samples),
        max(sample.ended for sample in samples),
        latencies,
    )
