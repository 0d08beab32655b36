"""Translates the limits of an account, including those of JetStream. -1 is unlimited."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...accounts.account import UNLIMITED, ConnectionLimits
from ...accounts.token_permissions import limit
from ...config.options import AccountJetStream

if TYPE_CHECKING:
    from ....keys.claims.limits import JetStreamLimits, OperatorLimits


def limits(given: OperatorLimits) -> ConnectionLimits:
    """Return the limits of connections, subscriptions and payload. `data` limits none.

    Source: nats-server's server/accounts.go: updateAccountClaimsWithRefresh.
    """
    return ConnectionLimits(limit(given.conn), limit(given.subs), limit(given.payload), limit(given.leaf))


def grants(given: OperatorLimits) -> dict[str, AccountJetStream] | None:
    """Return JetStream's limits by tier (`R1`, `R3`), "" being the whole account; None without JetStream."""
    if not given.jetstream_enabled:
        return None
    if given.mem_storage or given.disk_storage:
        return {"": _share(given.jetstream)}
    return {tier: _share(share) for tier, share in given.tiered_limits.items()}


def _share(given: JetStreamLimits) -> AccountJetStream:
    """Return the limits of one tier.

    0 allows nothing for storage and for counts, of which -1 is unlimited. For the rest 0 is unlimited, too.
    """
    return AccountJetStream(
        max_memory=given.mem_storage,
        max_store=given.disk_storage,
        max_streams=given.streams,
        max_consumers=given.consumer,
        max_bytes_required=given.max_bytes_required,
        memory_max_stream_bytes=given.mem_max_stream_bytes if given.mem_max_stream_bytes > 0 else UNLIMITED,
        store_max_stream_bytes=given.disk_max_stream_bytes if given.disk_max_stream_bytes > 0 else UNLIMITED,
        max_ack_pending=given.max_ack_pending if given.max_ack_pending > 0 else UNLIMITED,
    )
