"""LeafLinks: notes at once when a leaf connection between parts of one JetStream is lost.

A hub and its leaf nodes that have one domain are one JetStream, over the leaf connections of their system
accounts. A server of the hub that loses a leaf node tells the others of its cluster by `$JSC.LOST`. A leaf
node that loses its hub loses all servers of the hub's cluster. Without a word, a server counts as lost after
it has been silent for long.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...accounts.subscription import Message
    from ...cluster.transport import PubSub
    from ..host import JetStreamHost
    from .node_status import NodeStatuses

SUBJECT = "$JSC.LOST"


class LeafLinks:
    """The leaf connections of one server's system account.

    lost: is called with the id of each server that is lost.
    found: is called when there is one more connection.
    """

    def __init__(
        self,
        pubsub: PubSub,
        host: JetStreamHost,
        node_statuses: NodeStatuses,
        lost: Callable[[str], None],
        found: Callable[[], None],
    ) -> None:
        self._pubsub = pubsub
        self._host = host
        self._node_statuses = node_statuses
        self._lost = lost
        self._found = found
        self._subscription: Any = None

    def start(self) -> None:
        """Listen to the other servers of the cluster."""
        self._subscription = self._pubsub.subscribe(SUBJECT, self._reported)

    def stop(self) -> None:
        """Listen no more, and tell nothing more."""
        if self._subscription is not None:
            self._pubsub.unsubscribe(self._subscription)
            self._subscription = None

    def joined(self) -> None:
        """Exchange reports with the servers behind a new leaf connection."""
        if self._subscription is not None:
            self._found()

    def left(self, server_id: str, hub_cluster: str) -> None:
        """Note that there is no leaf connection to that server any more.

        hub_cluster: its cluster if it is a hub, else "".
        """
        if self._subscription is None:
            return
        if hub_cluster:
            for process in self._node_statuses.processes(hub_cluster):
                self._lost(process)
        elif self._node_statuses.knows(server_id):
            self._lost(server_id)
            info = {"cluster": self._host.cluster_name, "server": server_id}
            self._pubsub.publish(SUBJECT, json.dumps(info).encode())

    def _reported(self, message: Message) -> None:
        try:
            info = json.loads(message.body)
            cluster, server_id = str(info["cluster"]), str(info["server"])
        except (ValueError, TypeError, KeyError):
            return
        # Another cluster may still have a route to that server, or a leaf connection.
        if cluster == self._host.cluster_name and server_id != self._host.server_id:
            self._lost(server_id)
