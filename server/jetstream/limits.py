"""JetStreamLimits: what one account may store on this server, and what it uses.

An account has one set of limits, or one for each tier: the streams with one replica, those with three, and so
on. Promises: without limits that apply, nothing is stored; new limits change nothing that is stored. Source
of the tiers: nats-server's `server/jetstream.go` (`selectLimits`, `tierName`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol.errors import api_error
from .quota import Quota

if TYPE_CHECKING:
    from ...protocol.api.stream import StreamConfig
    from ..config.options import AccountJetStream


class JetStreamLimits:
    """The limits of one account, and a quota for each kind of storage.

    by_tier: the limits of each tier; `R1` is for streams with one replica, "" for all streams together.
    memory, files: the quotas of streams in memory and on the disk. For those of tiers other than R1 see
        `quota`.
    """

    def __init__(self, by_tier: dict[str, AccountJetStream], memory: Quota, files: Quota) -> None:
        """memory, files: the server's quotas, in which the account's usage counts as well."""
        self.by_tier = by_tier
        self.memory = Quota(parent=memory)
        self.files = Quota(parent=files)
        self._tier_quotas: dict[tuple[str, int], Quota] = {}
        self.change(by_tier)

    def change(self, by_tier: dict[str, AccountJetStream]) -> None:
        """Take over other limits; what is stored stays."""
        self.by_tier = by_tier
        limits = self.of(1)
        self.memory.grant(None if limits is None else limits.max_memory)
        self.files.grant(None if limits is None else limits.max_store)
        self._grant_tiers()

    def _grant_tiers(self) -> None:
        """Set the limits of tiers, which are for each replica, while usage counts for all of them."""
        for (storage, replicas), quota in self._tier_quotas.items():
            limits = self.of(replicas)
            most = None if limits is None else limits.max_memory if storage == "memory" else limits.max_store
            quota.grant(most if most is None or most < 0 else most * replicas)

    @property
    def flat(self) -> bool:
        """Whether one set of limits applies to all streams together."""
        return "" in self.by_tier

    def of(self, replicas: int) -> AccountJetStream | None:
        """Return the limits of streams with so many replicas (0 counts as 1), or None if none are allowed."""
        return self.by_tier.get("", self.by_tier.get(f"R{max(1, replicas)}"))

    def required(self, replicas: int) -> AccountJetStream:
        """Return the limits of streams with so many replicas. Raises ApiError 10120 if none are allowed."""
        limits = self.of(replicas)
        if limits is None:
            raise api_error("JSNoLimitsErr")
        return limits

    def check(self, config: StreamConfig, extra_bytes: int) -> None:
        """Raise ApiError if the account may not have such a stream, or `extra_bytes` more bytes."""
        limits = self.required(config.num_replicas)
        if 0 < limits.max_consumers < config.max_consumers:
            raise api_error("JSMaximumConsumersLimitErr")
        if config.num_replicas > 1 and not self.flat:
            return  # the quotas are another tier's, and such a stream will be refused
        if not self.quota(config.storage).can_reserve(extra_bytes):
            raise api_error(
                "JSMemoryResourcesExceededErr"
                if config.storage == "memory"
                else "JSStorageResourcesExceededErr"
            )

    def quota(self, storage: str, replicas: int = 1) -> Quota:
        """Return the quota of "file" or "memory" streams with so many replicas."""
        if replicas <= 1 or self.flat:
            return self.memory if storage == "memory" else self.files
        key = (storage, replicas)
        if key not in self._tier_quotas:
            parent = (self.memory if storage == "memory" else self.files).parent
            self._tier_quotas[key] = Quota(parent=parent)
            self._grant_tiers()
        return self._tier_quotas[key]

    @property
    def quotas(self) -> dict[tuple[str, int], Quota]:
        """All quotas, by storage and replicas; those of one replica also serve as those of flat limits."""
        return {("memory", 1): self.memory, ("file", 1): self.files, **self._tier_quotas}
