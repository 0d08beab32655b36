"""How long a server holds a request that may become its own: there is no leader, or it may be gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....clock import SECOND
from ....cluster.ticker import TICK
from ...meta.responder import LEADERLESS_AFTER

if TYPE_CHECKING:
    from ....cluster.raft_node import RaftNode
    from ....cluster.ticker import Ticker
    from ...cluster.view import ClusterView

PAUSE = SECOND // 20  # ns between two looks
LONGEST_WAIT = (
    LEADERLESS_AFTER + SECOND
)  # ns that a request waits at most; then there is a leader, or it is refused
MOST_WAITING = 1000  # requests; any more are left to the leader that is known


def pause_for_meta_leader(view: ClusterView, ticker: Ticker, since: int) -> int:
    """Return the ns to the next look at a request for the meta leader that came at the tick `since`.

    0 if another server leads and was heard since. A leader that cannot serve yet, or hands over, waits, too.
    """
    return (
        PAUSE if view.leader_status.leader in ("", view.me) else pause_for_leader(view.group, ticker, since)
    )


def pause_for_leader(group: RaftNode | None, ticker: Ticker, since: int) -> int:
    """Return the ns to wait for a message of a group's leader, 0 if one came after the tick `since`."""
    ticks = ticker.count - since
    return 0 if group is None or group.peers.silence().get(group.leader, ticks) + 2 <= ticks else TICK
