"""PeerRules: what an `ocsp_peer` block asks for; and whether `ocsp_cache` has answers remembered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...protocol.lazy_dataclass import dataclass
from .options import SECOND

_TIMEOUT = 2 * SECOND
_SKEW = 30 * SECOND
_TTL = 3600 * SECOND


@dataclass(frozen=True, slots=True)
class PeerRules:
    """The rules of one listener. Times are in ns.

    timeout: how long a responder may take.
    skew: by how much its clock may differ.
    ttl: how long an answer counts that does not say so.
    warn_only: accept every peer, and log why it should not be.
    unknown_is_good: accept certificates that a responder does not know.
    when_unreachable: accept if no responder can be asked, unless it has called the certificate revoked.
    """

    timeout: int = _TIMEOUT
    skew: int = _SKEW
    ttl: int = _TTL
    warn_only: bool = False
    unknown_is_good: bool = False
    when_unreachable: bool = False

    @classmethod
    def of(cls, block: Mapping[str, Any] | None) -> PeerRules | None:
        """Return the rules of an `ocsp_peer` block; None if it asks for no check."""
        if block is None or not block.get("enabled"):
            return None
        if len(block) > 1 and not block.get("verify"):  # a block verifies only if it says so
            return None
        return cls(
            block.get("ca_timeout") or _TIMEOUT,
            block.get("allowed_clockskew", _SKEW),
            block.get("cache_ttl_when_next_update_unset", _TTL),
            block.get("warn_only", False),
            block.get("unknown_is_good", False),
            block.get("allow_when_ca_unreachable", False),
        )


def keeps_answers(ocsp_cache: Mapping[str, Any] | None) -> bool:
    """Return whether answers are remembered while they count, as they are by default."""
    block = ocsp_cache or {}
    return bool(block.get("enabled", True)) and block.get("type") != "none"
