"""What an account may store and how much it does, as servers tell users of the system account (JSZ).

Servers tell an account's limits as what is reserved for it; no limit is -1 as an unsigned number. Limits by
tier are not among them: the account's token has those (ACCOUNTZ), and its streams say how much a tier uses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .account_origin import UNTOLD, AccountOrigin

Info = Mapping[str, Any]
_UNSIGNED = 1 << 63


def limits_of(details: Sequence[Info], account: Info) -> dict[str, Any]:
    """Return usage and limits as INFO of the JetStream API has them.

    details: what each server says of the account. Each counts what all servers of a cluster store for it.
    account: what ACCOUNTZ says of it.
    """
    token = (account.get("decoded_jwt") or {}).get("nats") or {}
    tiers = (token.get("limits") or {}).get("tiered_limits") or {}
    if tiers:
        used = _used(details)
        return {"tiers": {name: _tier(limits, used.get(name, {})) for name, limits in tiers.items()}}
    found: dict[str, Any] = {"limits": {}}
    for detail in details:
        for kind in ("memory", "storage"):
            found[kind] = max(found.get(kind, 0), int(detail.get(kind, 0)))
            limit = int(detail.get(f"reserved_{kind}", 0))
            if 0 < limit < _UNSIGNED:
                found["limits"][f"max_{kind}"] = limit
    return found


def _tier(limits: Info, used: Mapping[str, int]) -> dict[str, Any]:
    most = {"max_memory": limits.get("mem_storage", 0), "max_storage": limits.get("disk_storage", 0)}
    return {"memory": 0, "storage": 0, **used, "limits": most}


def _used(details: Iterable[Info]) -> dict[str, dict[str, int]]:
    """Return how many bytes each tier uses, by kind, with those of all replicas, as INFO counts them."""
    sizes: dict[tuple[str, str, str], int] = {}  # by tier, kind and stream
    for stream in [each for detail in details for each in detail.get("stream_detail") or []]:
        config = stream.get("config") or {}
        replicas = int(config.get("num_replicas", 1))
        key = f"R{replicas}", "memory" if config.get("storage") == "memory" else "storage", stream["name"]
        size = replicas * int((stream.get("state") or {}).get("bytes", 0))
        sizes[key] = max(sizes.get(key, 0), size)
    found: dict[str, dict[str, int]] = {}
    for (tier, kind, _), size in sizes.items():
        used = found.setdefault(tier, {})
        used[kind] = used.get(kind, 0) + size
    return found


def origin_by(detail: Info, name: str) -> AccountOrigin:
    """Return where an account is made, by what servers say of it (ACCOUNTZ). name: as it was asked for."""
    if not detail:
        return UNTOLD
    tokens = bool(detail.get("jwt"))
    tag = str(detail.get("name_tag") or "")
    return AccountOrigin(tokens, tag if tokens else name)
