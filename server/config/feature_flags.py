"""The feature flags of nats-server, which switch new behaviour on; each is off by default.

`js_raft_delete_range` and `js_snapshot_sources` have no effect: they choose the format of what replicas of
nats-server send each other, and those of pyjs always send ranges, and the positions of sources.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .options import Options

JS_ACK_FC_V2 = "js_ack_fc_v2"  # subjects of acks and flow control name the domain and the account
JS_API_REPLY_V2 = "js_api_reply_v2"  # so do the replies to the requests of mirrors and sources
KNOWN_FLAGS = (JS_ACK_FC_V2, JS_API_REPLY_V2, "js_raft_delete_range", "js_snapshot_sources")


def feature_flags(options: Options) -> dict[str, bool]:
    """Return every known flag with its value."""
    return {name: options.feature_flags.get(name, False) for name in sorted(KNOWN_FLAGS)}
