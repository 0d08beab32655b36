"""What an account may store and how much it does, as servers tell users of the system account (JSZ).

Servers tell an account's limits as what is reserved for it; no limit is -1 as an unsigned number. Limits by
tier are not among them, and so not judged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .account_origin import UNTOLD, AccountOrigin

Info = Mapping[str, Any]
_UNSIGNED = 1 << 63


def limits_of(details: Iterable[Info]) -> dict[str, Any]:
    """Return usage and limits as INFO of the JetStream API has them.

    details: what each server says of the account. Each counts what all servers of a cluster store for it.
    """
    found: dict[str, Any] = {"limits": {}}
    for detail in details:
        for kind in ("memory", "storage"):
            found[kind] = max(found.get(kind, 0), int(detail.get(kind, 0)))
            limit = int(detail.get(f"reserved_{kind}", 0))
            if 0 < limit < _UNSIGNED:
                found["limits"][f"max_{kind}"] = limit
    return found


def origin_by(detail: Info, name: str) -> AccountOrigin:
    """Return where an account is made, by what servers say of it (ACCOUNTZ). name: as it was asked for."""
    if not detail:
        return UNTOLD
    tokens = bool(detail.get("jwt"))
    tag = str(detail.get("name_tag") or "")
    return AccountOrigin(tokens, tag if tokens else name)
