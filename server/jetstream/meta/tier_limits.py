"""TierLimits: an account's limits for one tier, as they travel in commands, and how they are counted.

Limits come from each server's own configuration or from tokens, which servers may read at different times.
So the leader puts those it decided by into its command, and every server counts by the same numbers. Source
of what counts how: JetStream API, account tiers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass

from ....protocol.errors import ApiError, api_error
from .assignment import ConsumerAssignment, Document, StreamAssignment


@dataclass(frozen=True, slots=True)
class TierLimits:
    """Limits; -1 (for counts also 0) is none. tier: "R3" when the limits are for such streams only, or "".

    Without a tier a stream's bytes count once for each replica, with one they count once.
    """

    tier: str = ""
    max_memory: int = -1
    max_store: int = -1
    max_streams: int = -1
    max_consumers: int = -1

    def to_json(self) -> Document:
        """As it stands in commands."""
        return asdict(self)

    def counts(self, replicas: int) -> bool:
        """Whether what has so many replicas is counted here."""
        return not self.tier or self.tier == f"R{replicas}"

    def reservation(self, max_bytes: int, replicas: int) -> int:
        """What a stream reserves of the account's bytes."""
        return max_bytes if self.tier else max_bytes * replicas


UNLIMITED = TierLimits()


def stream_limit_error(
    tier_limits: TierLimits, wanted: StreamAssignment, others: Iterable[StreamAssignment], *, new: bool
) -> ApiError | None:
    """Why `wanted` may not be there beside `others`, or None. new: it is one more."""
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
    # without a reservation there must be room for a byte
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
    """Why the stream may not have one consumer more, or None."""
    if not wanted.public:
        return None
    total = counted = 0
    for other in others:
        if other.public:
            total += 1
            counted += tier_limits.counts(other.replicas(stream))
    most = int(stream.config.get("max_consumers") or 0)
    if 0 < most <= total or 0 < tier_limits.max_consumers <= counted:
        return api_error("JSMaximumConsumersLimitErr")
    return None
