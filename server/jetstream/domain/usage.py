"""What this server tells of its own streams: bytes used, and how far the members of what it leads are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...cluster.meta.usage import Used

if TYPE_CHECKING:
    from ..account import JetStreamAccount
    from .asset import Asset


def used(accounts: Mapping[str, JetStreamAccount]) -> dict[str, dict[str, Used]]:
    """Bytes by account and tier."""
    found: dict[str, dict[str, Used]] = {}
    for name, held in accounts.items():
        for stream in held.streams.values():
            memory, store = found.setdefault(name, {}).get(tier := f"R{stream.config.num_replicas}", Used())
            size = stream.store.bytes
            found[name][tier] = (
                Used(memory + size, store)
                if stream.config.storage == "memory"
                else Used(memory, store + size)
            )
    return found


def lags(assets: Mapping[tuple[str, str], Asset]) -> dict[tuple[str, str], dict[str, int]]:
    """How many operations each member is behind, of the groups that are led here."""
    found = {}
    for key, asset in assets.items():
        view = asset.view() if asset.leads() else None
        if view is not None:
            found[key] = {member: peer.lag for member, peer in view.peers.items()}
    return found
