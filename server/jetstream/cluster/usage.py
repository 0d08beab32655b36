"""What this server reports of its own streams: bytes used, and how far the members of what it leads are.

And what it does with the reports of the others: an account's limits are for all servers together.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..meta.usage import Reports, TierUsage

if TYPE_CHECKING:
    from ..account.account import JetStreamAccount
    from .local_info import LocalStreamView


def used(accounts: Mapping[str, JetStreamAccount]) -> dict[str, dict[str, TierUsage]]:
    """Bytes by account and tier."""
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
    """Give an account's quotas what was reported; me: this server's member."""
    sums: dict[tuple[str, int], list[int]] = {}  # by storage and replicas: elsewhere, here
    for member, tiers in reports.items():
        for tier, used_there in tiers.items():
            replicas = 1 if account.limits.flat else int(tier.removeprefix("R"))
            for storage, size in (("memory", used_there.memory), ("file", used_there.store)):
                sums.setdefault((storage, replicas), [0, 0])[member == me] += size
    for key, quota in account.limits.quotas.items():
        quota.set_reported(*sums.get(key, (0, 0)))


def lags(local_streams: Mapping[tuple[str, str], LocalStreamView]) -> dict[tuple[str, str], dict[str, int]]:
    """How many operations each member is behind, of the groups that are led here."""
    found = {}
    for key, local in local_streams.items():
        view = local.group_view() if local.leads() else None
        if view is not None:
            found[key] = {member: peer.lag for member, peer in view.peers.items()}
    return found
