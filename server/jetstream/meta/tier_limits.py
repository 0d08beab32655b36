"""TierLimits: an account's limits for one tier, as commands carry them, and how usage is counted against
them.

Limits come from each server's own configuration or from tokens, which servers may read at different times.
The leader therefore puts the limits that it decided by into its command, and every server counts by the same
numbers. Source for what counts how: JetStream API, account tiers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict

from ....protocol.errors import ApiError, api_error
from ....protocol.lazy_dataclass import dataclass
from .assignment import ConsumerAssignment, Document, StreamAssignment


@dataclass(frozen=True, slots=True)
class TierLimits:
    """Limits of an account; -1 means no limit, as does 0 for the counts.

    tier: "R3" if the limits are only for streams of so many replicas, "" if they are for all. Without a tier,
        a stream's bytes count once for each replica; with one they count once.
    max_memory, max_store: bytes.
    max_streams, max_consumers: counts.
    default_max_consumers: of a stream, where neither it nor the account has a limit.
    """

    tier: str = ""
    max_memory: int = -1
    max_store: int = -1
    max_streams: int = -1
    max_consumers: int = -1
    default_max_consumers: int = -1

    def to_json(self) -> Document:
        """Return the limits as a document for commands."""
        return asdict(self)

    def counts(self, replicas: int) -> bool:
        """Return whether a stream or consumer with so many replicas counts against these limits."""
        return not self.tier or self.tier == f"R{replicas}"

    def reservation(self, max_bytes: int, replicas: int) -> int:
        """Return how many of the account's bytes a stream reserves."""
        return max_bytes if self.tier else max_bytes * replicas


UNLIMITED = TierLimits()


def stream_limit_error(
    tier_limits: TierLimits, wanted: StreamAssignment, others: Iterable[StreamAssignment], *, new: bool
) -> ApiError | None:
    """Return why `wanted` may not exist beside `others`, or None. new: it is one more stream."""
    streams = reserved = 0
    for other in others:
        if not tier_limits.counts(other.replicas):
            continue
        streams += 1
        if other.storage == wanted.storage:
            reserved += tier_limits.reservation(other.max_bytes, other.replicas)
    if new and 0 < tier_limits.max_streams <= streams:
        return api_error("JSMaximumStreamsLimitErr")
    if 0 < tier_limits.max_consumers < int(wanted.config.get("max_consumers") or 0):
        return api_error("JSMaximumConsumersLimitErr")
    # without a reservation there must be room for one byte
    size = tier_limits.reservation(wanted.max_bytes or 1, wanted.replicas)
    memory = wanted.storage == "memory"
    limit = tier_limits.max_memory if memory else tier_limits.max_store
    if limit >= 0 and reserved + size > limit:
        return api_error("JSMemoryResourcesExceededErr" if memory else "JSStorageResourcesExceededErr")
    return None


def consumer_limit_error(
    tier_limits: TierLimits,
    stream: StreamAssignment,
    wanted: ConsumerAssignment,
    others: Iterable[ConsumerAssignment],
) -> ApiError | None:
    """Return why the stream may not have one more consumer, or None."""
    if not wanted.public:
        return None
    total = counted = 0
    for other in others:
        if other.public:
            total += 1
            counted += tier_limits.counts(other.replicas(stream))
    most = int(stream.config.get("max_consumers") or 0)
    if most <= 0 and tier_limits.max_consumers <= 0:
        most = tier_limits.default_max_consumers
    if 0 < most <= total or 0 < tier_limits.max_consumers <= counted:
        return api_error("JSMaximumConsumersLimitErr")
    return None
