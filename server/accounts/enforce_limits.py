"""Close the connections beyond an account's limits.

There are some after a limit was lowered, or if several servers admitted connections at the same time. The
latest connections are closed, here as on every other server that counts the same ones.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .account import Account

FULL_ERROR = "maximum account active connections exceeded"
FULL_REASON = "Maximum Account Connections Exceeded"


def close_excess(account: Account, clients: int = 0, leafs: int = 0) -> None:
    """Close the latest connections of an account that has more than its limits allow.

    clients, leafs: how many other servers have, if those count too.
    """
    for limit, connections, others in (
        (account.limits.connections, account.connections, clients),
        (account.limits.leafs, account.leafs, leafs),
    ):
        over = len(connections) + others - limit
        if limit >= 0 and over > 0:
            for connection in sorted(connections, key=attrgetter("id"))[-over:]:
                connection.fail(FULL_ERROR, FULL_REASON)
