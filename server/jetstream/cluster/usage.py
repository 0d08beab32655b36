"""What this server reports of its own streams: the bytes used, and the lags of the groups that it leads.

It also counts what the others report, since an account's limits apply to all servers together.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..meta.usage import Reports, TierUsage

if TYPE_CHECKING:
    from ..account.account import JetStreamAccount
    from .local_info import LocalStreamView


def used(accounts: Mapping[str, JetStreamAccount]) -> dict[str, dict[str, TierUsage]]:
    """Return the bytes used here: account -> tier -> bytes."""
    found: dict[str, dict[str, TierUsage]] = {}
    for name, account in accounts.items():
        for stream in account.streams.values():
            memory, store = found.setdefault(name, {}).get(
                tier := f"R{stream.config.num_replicas}", TierUsage()
            )
            size = stream.store.bytes
            found[name][tier] = (
                TierUsage(memory + size, store)
                if stream.config.storage == "memory"
                else TierUsage(memory, store + size)
            )
    return found


def count(account: JetStreamAccount, reports: Reports, me: str) -> None:
    """Set what an account's quotas count from the reports. me: this server's member."""
    sums: dict[tuple[str, int], list[int]] = {}  # (storage, replicas) -> elsewhere, here
    for member, tiers in reports.items():
        for tier, used_there in tiers.items():
            replicas = 1 if account.limits.flat else int(tier.removeprefix("R"))
            for storage, size in (("memory", used_there.memory), ("file", used_there.store)):
                sums.setdefault((storage, replicas), [0, 0])[member == me] += size
    for key, quota in account.limits.quotas.items():
        quota.set_reported(*sums.get(key, (0, 0)))


def lags(local_streams: Mapping[tuple[str, str], LocalStreamView]) -> dict[tuple[str, str], dict[str, int]]:
    """Return how many operations each member is behind, for the groups that are led here."""
    found = {}
    for key, local in local_streams.items():
        view = local.group_view() if local.leads() else None
        if view is not None:
            found[key] = {member: peer.lag for member, peer in view.peers.items()}
    return found
