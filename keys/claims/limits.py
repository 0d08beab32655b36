"""Limits of an account: connections and subjects, and JetStream, global or by tier.

-1 means unlimited; an absent limit is 0.
"""

from __future__ import annotations

from typing import Any

from pydantic import Field, model_validator

from .issues import Issues
from .model import ClaimsDocument, Int64


class JetStreamLimits(ClaimsDocument):
    """The JetStream limits of one tier, in bytes or counts. A storage limit of 0 disables that storage."""

    mem_storage: Int64 = 0
    disk_storage: Int64 = 0
    streams: Int64 = 0
    consumer: Int64 = 0
    max_ack_pending: Int64 = 0
    mem_max_stream_bytes: Int64 = 0
    disk_max_stream_bytes: Int64 = 0
    max_bytes_required: bool = False


JETSTREAM = tuple(JetStreamLimits.model_fields)


class OperatorLimits(ClaimsDocument):
    """The limits that the operator sets for an account.

    If there are tiers, the global JetStream limits of a token are ignored.
    """

    subs: Int64 = 0
    data: Int64 = 0
    payload: Int64 = 0
    imports: Int64 = 0
    exports: Int64 = 0
    wildcards: bool = False
    disallow_bearer: bool = False
    conn: Int64 = 0
    leaf: Int64 = 0
    mem_storage: Int64 = 0
    disk_storage: Int64 = 0
    streams: Int64 = 0
    consumer: Int64 = 0
    max_ack_pending: Int64 = 0
    mem_max_stream_bytes: Int64 = 0
    disk_max_stream_bytes: Int64 = 0
    max_bytes_required: bool = False
    tiered_limits: dict[str, JetStreamLimits] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _tiers_win(cls, data: Any) -> Any:
        if isinstance(data, dict) and data.get("tiered_limits"):
            return {key: value for key, value in data.items() if key not in JETSTREAM}
        return data

    @classmethod
    def unlimited(cls) -> OperatorLimits:
        """Return the limits of a new account: all unlimited, wildcard exports allowed, JetStream off."""
        return cls(subs=-1, data=-1, payload=-1, imports=-1, exports=-1, wildcards=True, conn=-1, leaf=-1)

    @property
    def jetstream(self) -> JetStreamLimits:
        """The global JetStream limits alone."""
        return JetStreamLimits(**{name: getattr(self, name) for name in JETSTREAM})

    @property
    def jetstream_enabled(self) -> bool:
        """Whether JetStream is on: some tier, or without tiers the global limits, have storage."""
        tiers = list(self.tiered_limits.values()) or [self.jetstream]
        return any(tier.mem_storage or tier.disk_storage for tier in tiers)

    @property
    def empty(self) -> bool:
        """Whether everything is 0, false or absent."""
        return not any(getattr(self, name) for name in type(self).model_fields)

    def check(self, issues: Issues) -> None:
        """Validate that global and tiered limits are not combined, and that tiers have names."""
        if self.tiered_limits:
            if self.jetstream != JetStreamLimits():
                issues.error("JetStream Limits and tiered JetStream Limits are mutually exclusive")
            if "" in self.tiered_limits:
                issues.error('Tiered JetStream Limits can not contain a blank "" tier name')
