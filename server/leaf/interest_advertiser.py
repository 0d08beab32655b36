"""InterestAdvertiser: announces the interest here to the peer of a leaf connection, and no more than it needs
to know.

Counts the interest that the peer may know of by subject and queue: the first plain subscription is announced
and the last one's end, and every change of a queue group's size. Promises that the peer's picture is right
after each change, in the order of the connection's other frames.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol.wire import encode
from ..accounts.source import ConnectionKind
from ..connection.part import Part

if TYPE_CHECKING:
    from ..accounts.account import InterestWatch
    from ..accounts.subscription import InterestChange, Subscription
    from .connection import LeafConnection

LOOP_PREFIX = "$LDS."
SERVICE_REPLY = "_R_."  # what was asked through an import is answered whatever the permissions

Key = tuple[str, str]  # subject, queue


class InterestAdvertiser(Part["LeafConnection"]):
    """What was announced to the peer of one connection."""

    __slots__ = ("_counts", "_watch")

    def __init__(self, connection: LeafConnection) -> None:
        super().__init__(connection)
        self._counts: dict[Key, int] = {}
        self._watch: InterestWatch | None = None

    def start(self) -> None:
        """Announce all present interest, and all changes from now on."""
        account = self._connection.account
        assert account is not None
        self._watch = account.watch_interest(self._changed)
        self.resync()

    def stop(self) -> dict[Key, int]:
        """Announce nothing more; gives what was announced."""
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None
        told, self._counts = self._counts, {}
        return told

    def resync(self) -> None:
        """Announce what differs from what was announced: mappings or permissions have changed."""
        if self._watch is None:
            return
        wanted = self._wanted()
        for key in [key for key in self._counts if key not in wanted]:
            self._tell(key, 0)
        for key, count in wanted.items():
            before = self._counts.get(key, 0)
            if not before or (key[1] and before != count):
                self._tell(key, count)
        self._counts = wanted

    def _wanted(self) -> dict[Key, int]:
        connection = self._connection
        account = connection.account
        assert account is not None
        wanted: dict[Key, int] = {}
        for subscription in account.subscriptions(self._watch):
            if self._concerns(subscription):
                key = (subscription.subject, subscription.queue)
                wanted[key] = wanted.get(key, 0) + subscription.weight
        for mapping in account.mappings:
            if not connection.is_spoke or connection.leaf_permissions.may_ask(mapping.source):
                wanted[mapping.source, ""] = wanted.get((mapping.source, ""), 0) + 1
        wanted[connection.leafs.loop_subject(account), ""] = 1
        return wanted

    def _changed(self, change: InterestChange) -> None:
        if not self._concerns(change.subscription):
            return
        key = (change.subject, change.queue)
        before = self._counts.get(key, 0)
        count = before + change.delta
        if count > 0:
            self._counts[key] = count
        else:
            self._counts.pop(key, None)
        if change.queue or (before > 0) != (count > 0):
            self._tell(key, count)

    def _concerns(self, subscription: Subscription) -> bool:
        """Whether one subscription is announced to the peer."""
        connection = self._connection
        sink: object = subscription.sink
        if sink is connection or (subscription.origin and subscription.origin == connection.remote_cluster):
            return False
        if subscription.subject.startswith(LOOP_PREFIX):
            return True
        kind = subscription.kind
        if kind == ConnectionKind.IMPORT and subscription.subject.startswith(SERVICE_REPLY):
            return True
        if kind == ConnectionKind.LEAF:
            # A hub passes on the interest of its leafs; a spoke only that of those that join it.
            if connection.isolated or (connection.is_spoke and getattr(sink, "is_spoke", False)):
                return False
        elif kind == ConnectionKind.ROUTER and connection.is_spoke:
            return False
        return connection.leaf_permissions.may_ask(subscription.subject)

    def _tell(self, key: Key, count: int) -> None:
        subject, queue = (part.encode("utf-8", "surrogateescape") for part in key)
        if count > 0:
            self._connection.send_line(encode.leaf_sub(subject, queue, count))
        else:
            self._connection.send_line(encode.leaf_unsub(subject, queue))
        self._connection.leafs.flusher.schedule()
