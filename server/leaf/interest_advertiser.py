"""InterestAdvertiser: advertises this server's interest to the peer of a leaf connection."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ...protocol.reserved import GATEWAY_REPLY, SERVICE_REPLY
from ...protocol.wire import encode
from ..accounts.advertiser import Advertiser
from ..accounts.subscription import ConnectionKind
from ..connection.connection_part import ConnectionPart

if TYPE_CHECKING:
    from ..accounts.space import SubjectSpace
    from ..accounts.subscription import Subscription
    from ..slices import TurnScheduler
    from .peer import LeafPeer

LOOP_PREFIX = "$LDS."

Key = tuple[str, str]  # subject, queue


class InterestAdvertiser(ConnectionPart["LeafPeer"], Advertiser[Key]):
    """What was advertised to the peer of one connection.

    Mappings are advertised too, and last the subject that detects loops.
    """

    def __init__(self, connection: LeafPeer, turns: TurnScheduler) -> None:
        ConnectionPart.__init__(self, connection)
        Advertiser.__init__(self, turns)

    def _extra_interest(self, account: SubjectSpace) -> Iterable[Key]:
        connection = self._connection
        for mapping in list(account.mappings):
            if not connection.is_spoke or connection.leaf_permissions.may_subscribe(mapping.source):
                yield mapping.source, ""
        yield connection.context.loop_subject(account), ""

    def _hold(self) -> None:
        self._connection.pause()

    def _go_on(self) -> None:
        self._connection.resume()

    def _key(self, subscription: Subscription) -> Key:
        return subscription.subject, subscription.queue

    def _should_advertise(self, subscription: Subscription) -> bool:
        """Return whether the subscription is advertised to the peer."""
        connection = self._connection
        sink = subscription.sink
        if sink is connection or (subscription.origin and subscription.origin == connection.remote_cluster):
            return False
        if subscription.subject.startswith(LOOP_PREFIX):
            return True
        kind = subscription.kind
        if kind == ConnectionKind.IMPORT and subscription.subject.startswith(SERVICE_REPLY):
            return True  # permissions do not apply to it
        if kind == ConnectionKind.GATEWAY and subscription.subject.startswith(GATEWAY_REPLY):
            return True  # nor to this
        if kind == ConnectionKind.LEAF:
            # A hub passes on the interest of its leafs; a spoke passes on only that of leafs that join it.
            if connection.isolated or (connection.is_spoke and sink.is_spoke):
                return False
        elif kind == ConnectionKind.ROUTER and connection.is_spoke:
            return False
        return connection.leaf_permissions.may_subscribe(subscription.subject)

    def _send_count(self, key: Key, count: int) -> None:
        subject, queue = (part.encode("utf-8", "surrogateescape") for part in key)
        connection = self._connection
        if count > 0:
            connection.send_line(encode.leaf_sub(subject, queue, count))
        else:
            connection.send_line(encode.leaf_unsub(subject, queue))
        connection.context.flusher.schedule()
