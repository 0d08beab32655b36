"""How two servers agree on the compression of their connection. Pure.

Each tells the other its mode in INFO. If both can compress and one of them wants to, both do, each with the
effort that it has chosen. Source: nats-server's server/server.go: selectCompressionMode,
selectS2AutoModeBasedOnRTT.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..clock import SECOND

if TYPE_CHECKING:
    from ..config.options import CompressionOptions

NOT_SUPPORTED: Final = "not supported"
OFF: Final = "off"
ACCEPT: Final = "accept"
AUTO: Final = "s2_auto"
# How hard each mode compresses, as `protocol.s2.chunk` takes it.
EFFORTS: Final = {"s2_uncompressed": 0, "s2_fast": 1, "s2_better": 2, "s2_best": 3}
_BY_PLACE = tuple(EFFORTS)  # of the thresholds that the round trip time is compared with
_THRESHOLDS = (SECOND // 100, SECOND // 20, SECOND // 10)


def announced(mode: str) -> dict[str, str]:
    """Return the field of an INFO that tells a mode."""
    return {} if mode == NOT_SUPPORTED else {"compression": mode}


def negotiate(own: CompressionOptions, theirs: str, rtt: int) -> str:
    """Return the mode in which this server compresses: a key of `EFFORTS`, or OFF or NOT_SUPPORTED.

    theirs: the peer's mode, "" if it has told none.
    rtt: the round trip time in ns.

    Raises ValueError if the peer's mode is unknown.
    """
    if own.mode in {NOT_SUPPORTED, OFF}:
        return NOT_SUPPORTED if not theirs or own.mode == NOT_SUPPORTED else OFF
    if theirs in {"", NOT_SUPPORTED}:
        return NOT_SUPPORTED
    if theirs == OFF or (theirs == ACCEPT and own.mode == ACCEPT):
        return OFF
    if theirs not in {ACCEPT, AUTO, *EFFORTS}:
        raise ValueError(f'unsupported route compression mode "{theirs}"')
    if own.mode == ACCEPT:
        return "s2_fast" if theirs == AUTO else theirs
    return by_rtt(own, rtt) if own.mode == AUTO else own.mode


def by_rtt(own: CompressionOptions, rtt: int) -> str:
    """Return the mode for a round trip time, in ns, of a server that compresses by it.

    Each mode has a threshold, up to which it is taken; 0 leaves the mode out, unless the time is 0.
    """
    thresholds = [max(0, each) for each in own.rtt_thresholds or ()]
    while thresholds and not thresholds[-1]:
        thresholds.pop()
    limits = thresholds or _THRESHOLDS
    last = 3 if len(limits) >= 3 else len(limits) - 1
    return _BY_PLACE[next((place for place, limit in enumerate(limits) if rtt <= limit), last)]
