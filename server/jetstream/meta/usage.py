"""Usage: what an account uses over the whole cluster, from the reports of the servers.

Each server reports from time to time how many bytes its replicas use, by account and tier. The meta leader
answers INFO with the sum, and counts streams, consumers and reservations itself.

Source: nats-server's server/jetstream.go: sendClusterUsageUpdate, JetStreamUsage.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ....protocol.api.account import AccountInfo, AccountLimits, AccountTier
from .state import MetaState


class TierUsage(NamedTuple):
    """The bytes of one account, in one tier (such as "R3"), on one server."""

    memory: int = 0
    store: int = 0


Reports = Mapping[str, Mapping[str, TierUsage]]  # member -> tier -> bytes


def account_info(
    state: MetaState, account: str, limits: Mapping[str, AccountLimits], reports: Reports, domain: str
) -> AccountInfo:
    """Return the account's numbers; the caller fills in `api`.

    limits: by tier, or one under "" for all.
    reports: what each member uses of the account.
    """
    flat = limits.get("")
    info = AccountInfo(limits=AccountLimits() if flat is None else flat, domain=domain)
    tiers = {name: AccountTier(limits=tier_limits) for name, tier_limits in limits.items() if name}
    for used in reports.values():
        for tier, (memory, store) in used.items():
            for one in (info, tiers.setdefault(tier, AccountTier())):
                one.memory += memory
                one.storage += store
    for stream in state.of_account(account):
        # A reservation is shown once, however many copies there are.
        for one in (info, tiers.setdefault(f"R{stream.replicas}", AccountTier())):
            one.streams += 1
            if stream.storage == "memory":
                one.reserved_memory += stream.max_bytes
            else:
                one.reserved_storage += stream.max_bytes
        for consumer in state.consumers_of(account, stream.name):
            if consumer.public:
                info.consumers += 1
                tiers.setdefault(f"R{consumer.replicas(stream)}", AccountTier()).consumers += 1
    if flat is None:
        info.tiers = dict(sorted(tiers.items()))
    return info


def total(reports: Iterable[Mapping[str, TierUsage]]) -> TierUsage:
    """Return the sum over all tiers of some servers."""
    memory = store = 0
    for report in reports:
        for used in report.values():
            memory, store = memory + used.memory, store + used.store
    return TierUsage(memory, store)
